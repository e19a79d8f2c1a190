"""Names, addresses and ids leave the spans of OpenTelemetry before an exporter gets them.

    provider.add_span_processor(BatchSpanProcessor(Masked(OTLPSpanExporter(), mask)))

with ``mask = Sanitizer(only="people").rewrite_object``.  Name, attributes, events and status of a
span are a unit.  Links and attributes of the resource pass.
"""

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Status


class Masked(SpanExporter):
    def __init__(self, exporter: SpanExporter, mask) -> None:
        self.exporter, self.mask = exporter, mask
        self.shutdown, self.force_flush = exporter.shutdown, exporter.force_flush

    def export(self, spans) -> SpanExportResult:
        return self.exporter.export([self.masked(span) for span in spans])

    def masked(self, span: ReadableSpan) -> ReadableSpan:
        events = [(event.name, event.attributes, event.timestamp) for event in span.events]
        said = (span.name, span.attributes, events, span.status.description)
        name, attributes, events, description = self.mask(said)
        status = Status(span.status.status_code, description)
        more = {"parent": span.parent, "kind": span.kind, "links": span.links}
        more |= {"resource": span.resource, "instrumentation_scope": span.instrumentation_scope}
        more |= {"start_time": span.start_time, "end_time": span.end_time, "status": status}
        events = [Event(*event) for event in events]
        return ReadableSpan(name, span.context, attributes=attributes, events=events, **more)
