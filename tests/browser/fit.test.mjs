// The Fit tab as a visitor uses it: an equation follows points that are dragged by mouse, finger and keyboard, added and
// removed; what it cannot follow is said, and goes when it is mended. Pictures: build/screenshots.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openChromium, screenshot, watch } from './browsers.mjs';
import { serve } from '../../scripts/serve.mjs';

const PATIENCE_MS = 60_000;

/** In the page: what the tab shows, as data. */
const read = () => {
  const by = (id) => document.querySelector(`[data-testid=${id}]`);
  const number = (id) => Number(by(id)?.dataset.value ?? NaN);
  return {
    equation: by('fit-equation')?.querySelector('[aria-pressed=true]')?.textContent ?? '',
    parameters: [...document.querySelectorAll('[data-testid=fit-parameters] li')].map((row) => ({
      symbol: row.dataset.symbol,
      truth: Number(row.dataset.truth),
      value: Number(row.querySelector('b').dataset.value ?? NaN),
      error: row.querySelector('.error').textContent,
    })),
    points: [...document.querySelectorAll('[data-testid=fit-point]')].map((point) => point.getAttribute('aria-label')),
    loss: number('fit-loss'),
    ms: number('fit-ms'),
    steps: number('fit-steps'),
    notice: by('fit-notice')?.textContent ?? '',
    problem: by('fit-notice')?.classList.contains('problem') ?? false,
    ready: by('fit-add')?.disabled === false && Number.isFinite(number('fit-loss')),
  };
};

describe('the Fit tab', () => {
  let server, browser, page, faults;
  const get = (id) => page.locator(`[data-testid=${id}]`);
  const points = () => page.locator('[data-testid=fit-point] .dot');

  /** Asks the page until it shows what is expected. */
  const until = async (wanted, what) => {
    const deadline = performance.now() + PATIENCE_MS;
    let seen;
    do {
      seen = await page.evaluate(read);
      if (wanted(seen)) return seen;
      await page.waitForTimeout(50);
    } while (performance.now() < deadline);
    return assert.fail(`never ${what}: ${JSON.stringify(seen)}`);
  };
  const values = ({ parameters }) => parameters.map(({ value }) => value).join();
  /** Until nothing changes any more. */
  const settled = async () => {
    let last;
    return until((seen) => {
      const same = last === values(seen) && seen.ready;
      last = values(seen);
      return same;
    }, 'came to rest');
  };
  const middle = async (locator) => {
    const { x, y, width, height } = await locator.boundingBox();
    return { x: x + width / 2, y: y + height / 2 };
  };
  const slide = (id, to) => page.evaluate(([name, value]) => {
    const input = document.querySelector(`[data-testid=${name}]`);
    input.value = value;
    input.dispatchEvent(new Event('input'));
  }, [id, to]);
  const reset = async () => {
    await get('fit-reset').click();
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    await until(({ problem, points: list, loss }) => !problem && list.length === 24 && loss > 1e-4, 'started over');
    return settled();
  };

  /** What a page at another address shows in the end. */
  const opens = async (url) => {
    const first = page;
    page = await browser.newPage();
    try {
      await page.goto(url);
      return await settled();
    } finally {
      await page.close();
      page = first;
    }
  };

  before(async () => {
    server = await serve({ port: 0 });
    browser = await openChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    faults = watch(page, server.url);
    await page.goto(`${server.url}?equation=pendulum#fit`);
  });
  after(async () => {
    await browser?.close();
    await server?.close();
  });

  test('its address opens it: points, parameters with errors, figures, and the gradient as code', async (t) => {
    const seen = await until(({ ready }) => ready, 'fitted');
    assert.equal(seen.equation, 'Pendulum');
    assert.equal(seen.points.length, 24);
    assert.deepEqual(seen.parameters.map(({ symbol }) => symbol), ['k', 'c', 'φ₀', 'ω₀']);
    for (const { value, error } of seen.parameters) assert.ok(Number.isFinite(value) && /^± [\d.]+$/.test(error), `${value} ${error}`);
    assert.ok(seen.steps > 3 && seen.ms > 0 && seen.loss > 0);
    t.diagnostic(`${seen.ms} ms for ${seen.steps} steps`);
    const code = (part) => page.waitForFunction((wanted) => document.querySelector('[data-testid=fit-code] .cm-content')?.textContent.includes(wanted), part);
    await code('export function gradient(at, seen');
    await get('fit-code-c').click();
    await code('void program(');
    const [download] = await Promise.all([page.waitForEvent('download'), get('fit-code-save').click()]);
    assert.equal(download.suggestedFilename(), 'gradient.c');
    await get('fit-code-js').click();
    await code('export function gradient(');
  });

  for (const [name, title] of [['prey', 'Predator and prey'], ['pendulum', 'Pendulum'], ['epidemic', 'Epidemic']]) {
    test(`${title}: points without errors give the true parameters`, async () => {
      await get(`fit-equation-${name}`).click();
      await until((seen) => seen.equation === title && seen.ready, 'fitted it');
      assert.match(page.url(), new RegExp(`equation=${name}#fit$`));
      await slide('fit-noise', 0);
      const { parameters } = await until(({ loss }) => loss < 1e-10, 'came to a loss of nothing');
      for (const { symbol, value, truth } of parameters) assert.ok(Math.abs(value - truth) < 1e-3 * Math.abs(truth), `${symbol} is ${value}, not ${truth}`);
      const { loss } = await reset();
      assert.ok(loss > 1e-4);
    });
  }

  test('dragging a point changes the parameters on the way, and no fit is left behind', async (t) => {
    await get('fit-equation-prey').click();
    await until((seen) => seen.equation === 'Predator and prey' && seen.ready, 'fitted it');
    const first = await reset();
    const { x, y } = await middle(points().nth(5));
    await page.mouse.move(x, y);
    await page.mouse.down();
    const seen = new Set();
    for (let i = 1; i <= 30; i++) {
      await page.mouse.move(x + i, y - 4 * i);
      const state = await page.evaluate(read);
      assert.doesNotMatch(state.notice, /start/);
      seen.add(values(state));
    }
    assert.ok(seen.size > 10, `${seen.size} different fits in 30 moves`);
    await screenshot(page, 'fit-dragged');
    await page.mouse.up();
    const last = await settled();
    assert.notEqual(values(last), values(first));
    assert.ok(last.loss > first.loss);
    t.diagnostic(`${seen.size} fits in 30 moves; ${last.ms} ms a fit, ${last.steps} steps`);
  });

  test('points that were moved are in the address, which opens with them', async () => {
    await get('fit-equation-prey').click();
    await until((seen) => seen.equation === 'Predator and prey' && seen.ready, 'fitted it');
    await reset();
    assert.doesNotMatch(page.url(), /points/);
    await get('fit-point').nth(3).focus();
    for (const key of ['ArrowUp', 'ArrowUp', 'Delete', 'ArrowRight']) await page.keyboard.press(key);
    const { points: moved } = await settled();
    assert.equal(moved.length, 23);
    await page.waitForFunction(() => /points=[\d._*-]+\.\.[\d._*-]+#fit$/.test(location.href));
    const { equation, points: opened } = await opens(page.url());
    assert.equal(equation, 'Predator and prey');
    assert.deepEqual(opened, moved);
    await get('fit-points').click();
    await settled();
    assert.doesNotMatch(page.url(), /points/);
    for (const text of ['nonsense', '1_2', '1_x..', '5_1*7..', ''])
      assert.equal((await opens(`${server.url}?equation=prey&points=${text}#fit`)).points.length, 24, text);
  });

  test('keys move a point, go to the next one, remove one and add one', async () => {
    const { points: before_, ...first } = await reset();
    await page.evaluate(() => document.querySelector('[data-testid=fit-point][tabindex="0"]').focus());
    const focused = (name) => page.evaluate((attribute) => document.activeElement.getAttribute(attribute), name);
    const [label, value] = [await focused('aria-label'), await focused('aria-valuenow')];
    /** Attributes follow with the next frame. */
    const changed = (name, from) => page.waitForFunction(([attribute, old]) => document.activeElement.getAttribute(attribute) !== old, [name, from]);
    await page.keyboard.press('Shift+ArrowUp');
    await changed('aria-valuenow', value);
    assert.ok(Number(await focused('aria-valuenow')) > Number(value) + 1);
    await page.keyboard.press('Shift+ArrowRight');
    await changed('aria-label', label);
    await until((seen) => values(seen) !== values(first), 'fitted what was moved');
    const moved = await focused('aria-label');
    await page.keyboard.press('n');
    assert.notEqual(await focused('aria-label'), moved);
    await page.keyboard.press('p');
    assert.equal(await focused('aria-label'), moved);
    await page.keyboard.press('Delete');
    await until(({ points: list }) => list.length === before_.length - 1 && !list.includes(moved), 'removed it');
    assert.match(await focused('aria-label'), /hares|lynxes/);
    await page.keyboard.press('Insert');
    await until(({ points: list }) => list.length === before_.length, 'added one');
    assert.equal(await page.locator('[data-testid=fit-point][tabindex="0"]').count(), 1);
  });

  test('a double click adds a point, and removes it', async () => {
    const { points: before_ } = await reset();
    const box = await get('fit-plot').locator('.u-over').boundingBox();
    const [x, y] = [box.x + 0.35 * box.width, box.y + 0.2 * box.height];
    await page.mouse.dblclick(x, y);
    const { points: more } = await until(({ points: list }) => list.length === before_.length + 1, 'added one');
    assert.match(more.at(-1), /^hares, year 7/);
    await page.mouse.dblclick(x, y);
    await until(({ points: list }) => list.length === before_.length, 'removed it');
  });

  test('a point stops at the edge of the plot, and the page says so', async () => {
    await reset();
    const box = await get('fit-plot').locator('.u-over').boundingBox();
    const dot = await points().nth(4).elementHandle();
    const { x, y } = await middle(dot);
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x, box.y - 150, { steps: 5 });
    await until(({ notice }) => /edge of the plot/.test(notice), 'said so');
    const seen = await settled();
    for (const { value } of seen.parameters) assert.ok(Number.isFinite(value));
    assert.equal(await dot.evaluate((shape) => shape.parentElement.getAttribute('aria-valuenow')), '16.0');
    await page.mouse.up();
    await until(({ notice }) => /^Drag a point|^The search gave up/.test(notice), 'was ready again');
  });

  test('the focus goes on from point to point that is removed, and from the last one to where more come from', async () => {
    await reset();
    await page.locator('#fit-plot g[tabindex]').first().focus();
    for (let i = 0; i < 24; i += 1) await page.keyboard.press('Delete');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'fit-add');
    await reset();
  });

  test('without points it says what to do; few points fit many curves', async () => {
    await reset();
    await page.evaluate(() => document.querySelector('[data-testid=fit-point][tabindex="0"]').focus());
    for (let left = 24; left > 0; left--) await page.keyboard.press('Delete');
    await until(({ points: list, problem, notice }) => list.length === 0 && problem && /no point to fit/.test(notice), 'said that there is no point');
    await get('fit-add').click();
    const { parameters } = await until(({ points: list, problem, notice }) => list.length === 1 && !problem && /1 point for 6 parameters/.test(notice), 'fitted one point');
    for (const { value, error } of parameters) assert.ok(Number.isFinite(value) && error === '');
    await reset();
  });

  test('a start that leads to a worse fit is said to', async () => {
    const { loss } = await reset();
    for (const i of [0, 1]) {
      await page.locator('[data-testid=fit-parameters] input').nth(i).focus();
      await page.keyboard.press('Home');
    }
    await until((seen) => /another valley/.test(seen.notice) && seen.loss > 2 * loss, 'said so');
  });

  test('starts from which the solver diverges are refused in words; another start, and all is well', async () => {
    const first = await reset();
    for (let i = 0; i < first.parameters.length; i++) {
      await page.locator('[data-testid=fit-parameters] input').nth(i).focus();
      await page.keyboard.press('End');
    }
    const { parameters } = await until(({ problem, notice }) => problem && /diverges/.test(notice), 'said so');
    for (const { value } of parameters) assert.ok(Number.isFinite(value), 'the last fit stays');
    await screenshot(page, 'fit-diverged');
    await reset();
    await get('fit-start').click();
    await until(({ ready, problem }) => ready && !problem, 'searched from another start');
    await reset();
  });

  test('a library that cannot be loaded is said, and can be loaded later', async () => {
    const other = await browser.newPage();
    let broken = true;
    await other.route(/sinter.*\.wasm/, (route) => (broken ? route.fulfill({ status: 404, body: 'Not found' }) : route.continue()));
    await other.goto(`${server.url}#fit`);
    await other.waitForFunction(() => /could not be compiled/.test(document.querySelector('[data-testid=fit-notice]')?.textContent ?? ''), null, { timeout: PATIENCE_MS });
    broken = false;
    await other.click('[data-testid=fit-equation-prey]');
    await other.waitForFunction(() => document.querySelector('[data-testid=fit-loss]').dataset.value !== undefined, null, { timeout: PATIENCE_MS });
    await other.close();
  });

  test('a worker that stays silent is followed by another one, which fits and writes the code', async () => {
    const silent = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    // The first question for the code gets lost, and its time is up at once.
    await silent.addInitScript(() => {
      const { postMessage } = Worker.prototype;
      let lost = 0;
      Worker.prototype.postMessage = function post(message, ...rest) {
        if (message?.method === 'code' && lost++ === 0) return;
        postMessage.call(this, message, ...rest);
      };
      const { setTimeout } = window;
      let long = 0;
      window.setTimeout = (act, ms, ...rest) => setTimeout(act, ms === 30_000 && ++long === 2 ? 1500 : ms, ...rest);
    });
    const says = (id, words) => silent.waitForFunction(([name, part]) => document.getElementById(name)?.textContent.includes(part), [id, words], { timeout: PATIENCE_MS });
    await silent.goto(`${server.url}#fit`);
    await says('fit-code-note', 'could not be written');
    assert.equal(await silent.locator('#fit-code-save').isDisabled(), true);
    const before = await silent.locator('#fit-loss').textContent();
    await silent.click('#fit-points');
    await silent.waitForFunction((last) => document.getElementById('fit-loss').textContent !== last, before, { timeout: PATIENCE_MS });
    await says('fit-notice', 'Drag a point');
    await silent.click('#fit-code-c');
    await says('fit-code-note', 'lines of C11');
    assert.equal(await silent.locator('#fit-code-save').isDisabled(), false);
    await silent.close();
  });

  test('a finger drags a point, and scrolls the page beside one', async () => {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, reducedMotion: 'reduce', colorScheme: 'dark' });
    const phone = await context.newPage();
    await phone.goto(`${server.url}?equation=epidemic#fit`);
    await phone.waitForFunction(() => document.querySelector('[data-testid=fit-loss]')?.dataset.value !== undefined, null, { timeout: PATIENCE_MS });
    const dot = phone.locator('[data-testid=fit-point] .dot').nth(3);
    await dot.scrollIntoViewIfNeeded();
    const touch = await context.newCDPSession(phone);
    const drag = async (x, y, dx, dy) => {
      const at = (share) => [{ x: x + share * dx, y: y + share * dy }];
      await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(0) });
      for (let i = 1; i <= 10; i++) await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(i / 10) });
      await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    };
    const state = () => phone.evaluate(read);
    const from = await state();
    const scrolled = await phone.evaluate(() => scrollY);
    const { x, y } = await middle(dot);
    await drag(x, y, 0, 90);
    await phone.waitForFunction((before_) => document.querySelector('[data-testid=fit-loss]').dataset.value !== String(before_), from.loss);
    assert.equal(await phone.evaluate(() => scrollY), scrolled, 'the page stays');
    const box = await phone.locator('[data-testid=fit-plot] .u-over').boundingBox();
    await drag(box.x + 0.2 * box.width, box.y + 0.3 * box.height, 0, -120);
    await phone.waitForFunction((before_) => scrollY !== before_, scrolled);
    await screenshot(phone, 'fit-phone');
    assert.equal(await phone.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
    await context.close();
  });

  test('nothing overflows at any width; no errors, no requests to elsewhere', async () => {
    for (const width of [320, 390, 820, 1440, 2560]) {
      await page.setViewportSize({ width, height: 900 });
      for (const name of ['epidemic', 'prey']) {
        await get(`fit-equation-${name}`).click();
        await until(({ ready }) => ready, 'fitted it');
        await page.waitForTimeout(100);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, `${name} at ${width}`);
      }
    }
    assert.equal(await get('error').isHidden(), true);
    assert.deepEqual(faults, []);
  });
});
