// A program in an address: it opens as it was shared, runs only when it is asked to, and what is damaged or from elsewhere is
// said in a sentence. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;

describe('a shared program', () => {
  let server, browser, page, faults;
  const get = (id) => page.locator(`[data-testid=${id}]`);
  const ready = () => page.waitForSelector('[data-testid=start]:not([disabled])', { timeout: PATIENCE_MS });
  const packed = (given) => deflateRawSync(Buffer.from(JSON.stringify(given))).toString('base64url');
  /** A page of its own: another fragment alone loads nothing. */
  const open = async (address) => {
    await page.goto('about:blank');
    await page.goto(`${server.url}${address}`);
  };
  const link = async () => {
    await get('share').locator('summary').click();
    await page.waitForFunction(() => document.querySelector('[data-testid=share-link]').value !== '');
    const value = await get('share-link').inputValue();
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Share', 'the focus is where it was');
    return value.slice(server.url.length);
  };

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    faults = watch(page, server.url);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('a program of the list has a short address, with the settings that were changed', async () => {
    await open('?example=spirals');
    await ready();
    assert.equal(await link(), '?example=spirals');
    await get('sizes').fill('8, 8');
    await get('sizes').press('Enter');
    await page.waitForFunction(() => /2 – 8 – 8 – 1/.test(document.querySelector('[data-testid=story]').textContent));
    const short = await link();
    assert.match(short, /^\?example=spirals&set=sizes/);
    await open(short);
    await ready();
    assert.equal(await get('sizes').inputValue(), '8, 8');
  });

  test('a changed program is in the address as a whole, is shown, and runs when it is asked to', async () => {
    await open('?example=throw');
    await ready();
    await page.click('[data-testid=source-editor] .preview');
    await page.click('[data-testid=source-editor] .cm-content');
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('// a throw of mine\nconsole.log("I ran");\n');
    await page.waitForFunction(() => /I ran/.test(document.querySelector('[data-testid=printed]').textContent), null, { timeout: PATIENCE_MS });
    await get('share').locator('summary').click();
    await page.waitForFunction(() => document.querySelector('[data-testid=share-link]').value !== '');
    await screenshot(page, 'share');
    const long = (await get('share-link').inputValue()).slice(server.url.length);
    assert.match(long, /^\?example=throw#program=1\.[\w-]{100,}$/);
    await open(long);
    await get('brought').waitFor();
    assert.match(await page.textContent('#source-preview'), /^\/\/ a throw of mine/);
    await page.waitForSelector('body[data-phase=failed]', { timeout: PATIENCE_MS });
    await page.waitForTimeout(500);
    assert.equal(await get('printed').isVisible(), false);
    assert.equal(await get('start').isDisabled(), true);
    await get('trust').click();
    await ready();
    await page.waitForFunction(() => /I ran/.test(document.querySelector('[data-testid=printed]').textContent), null, { timeout: PATIENCE_MS });
    assert.equal(await get('brought').isVisible(), false);
  });

  test('a changed text outlives a look at another program, and a reload of the page', async () => {
    const shown = () => page.evaluate(() => document.querySelector('#source-preview').textContent.split('\n')[0]);
    const changed = () => page.waitForFunction(() => document.querySelector('#source-preview').textContent.startsWith('// mine'), null, { timeout: PATIENCE_MS });
    await open('?example=throw');
    await ready();
    await page.click('[data-testid=source-editor] .preview');
    await page.click('[data-testid=source-editor] .cm-content');
    await page.keyboard.press('Control+Home');
    await page.keyboard.type('// mine\n');
    await get('example-xor').click();
    await page.waitForFunction(() => /XOR|xor|line/.test(document.querySelector('#purpose').textContent));
    assert.notEqual(await shown(), '// mine');
    await get('example-throw').click();
    await changed();
    await page.reload();
    await changed();
    await ready();
    assert.equal(await get('brought').isVisible(), false, 'it is the visitor’s own');
    await get('revert').click();
    await page.waitForFunction(() => document.getElementById('source-changed').hidden);
    await page.reload();
    await ready();
    assert.notEqual(await shown(), '// mine');
  });

  test('a link that is put into the address of the open page is followed', async () => {
    await open('?example=xor');
    await ready();
    const put = (written) => page.evaluate((fragment) => { location.hash = fragment; }, `program=${written}`);
    await put('1.nonsense');
    await page.waitForFunction(() => /damaged/.test(document.querySelector('[data-testid=error]').textContent));
    assert.match(await page.textContent('#source-preview'), /XOR|xor|line/, 'what was there stays');
    await put(`1.${packed({ name: 'throw', text: '// of a link', settings: {} })}`);
    await get('brought').waitFor();
    assert.equal(await page.textContent('#source-preview'), '// of a link');
    assert.equal(await get('example-throw').getAttribute('aria-pressed'), 'true');
  });

  test('the Compiler tab does not run it either before that', async () => {
    const text = 'console.log(1);\nfunction program(x) {\n  return sn.sin(x);\n}\nconst inputs = [sn.ones([8])];\n';
    await open(`?example=softmax#compiler&program=1.${packed({ name: 'softmax', text, settings: {} })}`);
    await page.waitForFunction(() => /sn\.sin/.test(document.querySelector('[data-testid=program-editor] .cm-content')?.textContent ?? ''));
    await page.waitForTimeout(1000);
    assert.equal(await page.textContent('[data-testid=program-problem]'), 'Not run yet.');
    for (let i = 0; i < 2; i += 1) {
      await page.click('label:has(#check-numerics)');
      await page.waitForTimeout(1000);
    }
    assert.equal(await page.textContent('[data-testid=program-problem]'), 'Not run yet.', 'a switch does not run it');
    await get('trust').click();
    await page.waitForFunction(() => document.querySelector('[data-testid=program-problem]').textContent.startsWith('Compiled'), null, { timeout: PATIENCE_MS });
  });

  test('what is damaged, of another version, too long or made by somebody else is said, and the page goes on', async () => {
    const wrong = [
      ['1.', /damaged/],
      ['1.!!!', /damaged/],
      ['nonsense', /damaged/],
      [`1.${packed({ name: 'mlp', text: 'x', settings: {} }).slice(0, -4)}`, /damaged/],
      [`1.${packed({ name: 'mlp', text: 7 })}`, /damaged/],
      [`1.${packed(null)}`, /damaged/],
      [`1.${packed({ name: 'mlp', text: 'x', settings: { batch: -1 } })}`, /settings that are damaged/],
      [`2.${packed({ name: 'mlp', text: 'x', settings: {} })}`, /version 2 .*this is version 1/],
      [`1.${packed({ name: 'mlp', text: 'x'.repeat(1e6) })}`, /too long/],
    ];
    for (const [written, expected] of wrong) {
      await open(`?example=throw#program=${written}`);
      await get('error').waitFor();
      assert.match(await get('error').textContent(), expected, written.slice(0, 40));
      await ready();
      assert.match(await get('story').textContent(), /^A velocity/);
    }
    await open('?example=throw&set=seed:none;batch');
    await get('error').waitFor();
    await ready();
    await open('?example=nothing');
    await ready();
    assert.match(await get('error').textContent(), /there is no program nothing/);
    assert.equal(await get('example-mlp').getAttribute('aria-pressed'), 'true');
  });

  test('a tab, a setting, a page, an example, a model or an equation in the address that there is not is said', async () => {
    for (const [address, expected] of [
      ['#nothing', /no tab nothing; models, fit/],
      ['?example=throw#toString', /no tab toString/],
      ['?set=nothing:1', /no setting nothing; there are learningRate/],
      ['?set=seed:1;toString:1', /no setting toString/],
      ['?set=sizes', /Sizes: whole numbers/],
      ['?set=batch:1:2', /Batch size: a whole number/],
      ['?logic=nothing#logic', /no page nothing of circuits and rules/],
      ['?logic=rules&rules=nothing#logic', /no example nothing of rules; this is A family/],
      ['?model=nothing#models', /no model nothing; digits and writer/],
      ['?equation=nothing#fit', /no equation nothing; this is Predator and prey/],
      ['?equation=prey&points=nothing#fit', /the points in the address are damaged/],
      ['?logic=rules&semantics=nothing&temperature=hot#logic', /no usable semantics, temperature of rules/],
      ['?logic=rules&temperature=-1#logic', /no usable temperature of rules/],
      [`?logic=rules&program=${'%25'.repeat(5000)}#logic`, /no usable program of rules/],
    ]) {
      await open(address);
      await get('error').waitFor();
      assert.match(await get('error').textContent(), expected);
    }
    await open('?logic=rules&rules=family#logic');
    await page.waitForFunction(() => /facts derived/.test(document.getElementById('rules-problem')?.textContent ?? ''));
    assert.equal(await get('error').isVisible(), false);
  });

  test('?embed shows the program without the page around it', async () => {
    await open('?example=throw&embed=1');
    await ready();
    assert.equal(await page.locator('.top').isVisible(), false);
    assert.equal(await get('source-editor').isVisible(), true);
    await page.setViewportSize({ width: 480, height: 700 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
    await screenshot(page, 'embed');
  });

  test('its menu lies within the page on a phone', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open('?example=throw');
    await ready();
    await get('share').locator('summary').click();
    const { x, width } = await get('share').locator('.popover').boundingBox();
    assert.ok(x >= 0 && x + width <= 390, `${x} to ${x + width}`);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  });

  test('no errors, no requests to elsewhere', () => assert.deepEqual(faults, []));
});
