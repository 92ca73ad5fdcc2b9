import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { openRenderer, type Renderer, RendererBusy } from './renderer.ts'
import type { TemplateFields } from './template.ts'

const fieldsOf = (fields: Partial<TemplateFields>): TemplateFields => ({
  subject: null,
  html: null,
  text: null,
  previewText: null,
  format: 'html',
  ...fields,
})
const variables = (params: object) => JSON.stringify({ params })
const RENDERED = { subject: null, html: null, text: null, previewText: null }

/** A thread that follows the order in its variables, in place of rendering. */
const script = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, workerData } from 'node:worker_threads'
    const progress = new Int32Array(workerData)
    parentPort.on('message', ({ type, variables }) => {
      if (type === 'start') return parentPort.postMessage([])
      progress.fill(0)
      parentPort.postMessage(variables.map((json, at) => {
        const { params } = JSON.parse(json)
        progress[0] = at
        progress[1] = 1
        if (params.do === 'hang') for (;;);
        if (params.do === 'die') process.exit(1)
        if (params.do === 'eat') for (let all = []; ; ) all.push(new Array(100000).fill(at))
        if (params.do === 'rest') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)
        if (params.do === 'hold') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
        if (params.do === 'wait') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30)
        return ${JSON.stringify(RENDERED)}
      }))
    })`)}`,
)

const act = (renderer: Renderer, party: string, ...doing: string[]) =>
  renderer.render(
    party,
    fieldsOf({}),
    doing.map(one => variables({ do: one })),
  )

describe('the renderer', () => {
  test('renders one template for many, in order', async () => {
    await using renderer = openRenderer()
    const many = Array.from({ length: 1000 }, (_, at) => variables({ at }))
    const results = await renderer.render('a', fieldsOf({ subject: 'No {{params.at}}' }), many)
    expect(results.map(result => ('failure' in result ? result : result.subject))).toEqual(
      many.map((_, at) => `No ${at}`),
    )
    expect(await renderer.render('a', fieldsOf({ subject: 'x' }), [])).toEqual([])
  })

  test('fails those of many that exceed a bound, and no others', async () => {
    await using renderer = openRenderer()
    const items = Array.from({ length: 101 }, (_, at) => at)
    const long = 'x'.repeat(2001)
    const many = items.map(at => variables({ x: at % 10 === 3 ? long : at }))
    const results = await renderer.render('a', fieldsOf({ subject: '{{params.x}}' }), many)
    const failure = { failure: 'bound', field: 'subject' }
    expect(results).toMatchObject(items.map(at => (at % 10 === 3 ? failure : { subject: `${at}` })))
  })

  test.each(['hang', 'die', 'eat'])('fails only what makes its thread %s', async how => {
    await using renderer = openRenderer({ script, workMsMax: 500 })
    const fine = { ...RENDERED }
    const failed = { failure: 'bound', field: 'html' }
    expect(await act(renderer, 'a', how)).toMatchObject([failed])
    expect(await act(renderer, 'a', '', '', how, '')).toMatchObject([fine, fine, failed, fine])
    const together = await Promise.all([
      act(renderer, 'a', how),
      act(renderer, 'b', ''),
      act(renderer, 'c', ''),
    ])
    expect(together).toMatchObject([[failed], [fine], [fine]])
  })

  test('counts only the time that its thread has the processor', async () => {
    await using renderer = openRenderer({ script, workMsMax: 500 })
    expect(await act(renderer, 'a', 'rest')).toEqual([RENDERED])
  })

  test('fails a check that hangs', async () => {
    const hanging = `import{parentPort as p}from'node:worker_threads';p.on('message',m=>{if(m.type==='check')for(;;);p.postMessage([])})`
    const hangingScript = new URL(`data:text/javascript,${encodeURIComponent(hanging)}`)
    await using renderer = openRenderer({ script: hangingScript, workMsMax: 500 })
    expect(await renderer.check('a', fieldsOf({ html: 'x' }))).toMatchObject({
      failure: 'invalid',
      field: 'subject',
    })
  })

  test('is busy while no thread starts, and starts the next one', async () => {
    const failing = new URL(`data:text/javascript,${encodeURIComponent('throw new Error()')}`)
    await using renderer = openRenderer({ script: failing })
    for (let at = 0; at < 3; at++) await expect(act(renderer, 'a', '')).rejects.toThrow(RendererBusy)
  })

  test('lets parties take turns', async () => {
    await using renderer = openRenderer({ script, workMsMax: 500 })
    const done: string[] = []
    const run = async (party: string) => {
      await act(renderer, party, 'wait')
      done.push(party)
    }
    const greedy = Array.from({ length: 30 }, () => run('greedy'))
    const modest = [run('modest'), run('humble')]
    await Promise.all([...greedy, ...modest])
    expect(done.indexOf('modest')).toBeLessThan(8)
    expect(done.indexOf('humble')).toBeLessThan(8)
  })

  test('keeps a thread for parties that render little', async () => {
    await using renderer = openRenderer({ script, workMsMax: 600_000 })
    await act(renderer, 'greedy', 'rest')
    const held = Promise.allSettled(['hold', 'hold', 'hold'].map(doing => act(renderer, 'greedy', doing)))
    expect(await act(renderer, 'modest', 'wait')).toEqual([RENDERED])
    await renderer[Symbol.asyncDispose]()
    for (const outcome of await held)
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(RendererBusy) })
  })

  test('refuses more of one party than may wait, and still serves others', async () => {
    await using renderer = openRenderer({ script, workMsMax: 500 })
    const many = Array.from({ length: 80 }, () => act(renderer, 'greedy', 'wait'))
    const modest = act(renderer, 'modest', '')
    const outcomes = await Promise.allSettled(many)
    const refused = outcomes.filter(outcome => outcome.status === 'rejected')
    expect(refused.length).toBe(80 - 64 - 2)
    for (const { reason } of refused) expect(reason).toBeInstanceOf(RendererBusy)
    expect(await modest).toEqual([RENDERED])
  })

  test('fails what is under way when it is closed', async () => {
    // A thread that hangs must not be given up before the renderer is closed.
    const renderer = openRenderer({ script, workMsMax: 600_000 })
    const failed = expect(act(renderer, 'a', 'hang')).rejects.toThrow(RendererBusy)
    await act(renderer, 'b', '')
    await renderer[Symbol.asyncDispose]()
    await failed
  })
})

test('a locked thread reaches no modules, no environment and no network', async () => {
  const lock = new URL('lock-thread.ts', import.meta.url).href
  const code = `
    import { parentPort } from 'node:worker_threads'
    import { lockThread } from ${JSON.stringify(lock)}
    import '${new URL('compile.ts', import.meta.url).href}'
    lockThread()
    const run = source => { try { return String(new Function('return ' + source)()) } catch (error) { return 'throws' } }
    const imports = []
    for (const name of ['node:fs', 'fs', 'node:child_process', ${JSON.stringify(lock)} + '?again'])
      imports.push(await new Function('name', 'return import(name)')(name).then(() => 'loaded', () => 'refused'))
    parentPort.postMessage({
      imports,
      globals: ['typeof process', 'typeof require', 'typeof fetch', 'typeof WebSocket', 'typeof globalThis.process'].map(run),
    })`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { env: {} })
  const seen = await new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  await worker.terminate()
  expect(seen).toEqual({
    imports: ['refused', 'refused', 'refused', 'refused'],
    globals: Array.from({ length: 5 }, () => 'undefined'),
  })
})
