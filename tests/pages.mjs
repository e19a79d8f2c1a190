// Open pages of dpsan in a browser at three widths, in light and dark: nothing may overflow, and
// axe may find no violation. `node tests/pages.mjs PAGE...` needs puppeteer-core, axe-core and
// CHROME, the path of a browser; pictures go to the folder of each page.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(path.join(process.cwd(), 'package.json'));
const puppeteer = require('puppeteer-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const browser = await puppeteer.launch({
  executablePath: process.env.CHROME ?? '/usr/bin/google-chrome',
  args: ['--no-sandbox', '--headless', '--disable-gpu', '--single-process', '--no-zygote'],
});

function overflowing() {
  const width = document.documentElement.clientWidth;
  const wide = (each) => each.getBoundingClientRect().right > width + 1;
  const cut = (each) =>
    each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== 'inline';
  return [...document.querySelectorAll('body *')]
    .filter((each) => !each.closest('svg') && (wide(each) || cut(each)))
    .map((each) => each.outerHTML.slice(0, 80));
}

let faults = 0;
for (const file of process.argv.slice(2)) {
  for (const scheme of ['light', 'dark']) {
    for (const width of [400, 1000, 1600]) {
      const page = await browser.newPage();
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.setViewport({ width, height: 900 });
      await page.goto(pathToFileURL(file).href);
      await page.screenshot({ path: `${file}-${width}-${scheme}.png`, fullPage: true });
      const found = await page.evaluate(overflowing);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => axe.run());
      found.push(...violations.map((each) => `${each.id}: ${each.nodes[0].html.slice(0, 80)}`));
      for (const fault of found) console.log(`${file} at ${width}, ${scheme}: ${fault}`);
      faults += found.length;
      await page.close();
    }
  }
}
await browser.close();
console.log(`${faults} faults`);
process.exit(faults ? 1 : 0);
