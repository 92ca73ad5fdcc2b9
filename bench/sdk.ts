import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Waxwing } from '../packages/sdk/src/index.ts'
import { signWebhook, verifyWebhook } from '../packages/sdk/src/webhooks.ts'
import { installPackedClient } from '../packages/server/test/sdk/runtimes/packed.ts'
import { median, short } from './figures.ts'
import type { Benchmark, Report } from './row.ts'
import { EVENTS, MESSAGES, PAGE } from './sdk-numbers.ts'

const run = promisify(execFile)
const ROUNDS = 9
const VERIFICATIONS = 5000
const COMPILATIONS = 5
const SECRET_BYTES = Buffer.alloc(32, 7)
const TSC = path.resolve(import.meta.dirname, '../node_modules/typescript/bin/tsc')

export const sdk: Benchmark = {
  name: 'sdk',
  about:
    'The client: 10,000 messages iterated, events streamed, webhooks verified, a call compiled; bare programs.',
  async run(report) {
    await using server = await startServer()
    const waxwing = new Waxwing({ baseUrl: server.address, key: 'wk_bench' })
    await compare(
      report,
      `iterating ${MESSAGES.toLocaleString('en-US')} messages`,
      'fetch and JSON.parse',
      '≤ 1.15 (1.05)',
      {
        ours: () => iterate(waxwing),
        theirs: () => readPages(server.address),
      },
    )
    await compare(report, `${EVENTS.toLocaleString('en-US')} events of a stream`, 'reading lines', '≤ 1.3', {
      ours: () => stream(waxwing),
      theirs: () => readLines(server.address),
    })
    await compareVerification(report)
    await compareCompilation(report)
  },
}

type Pair = Record<'ours' | 'theirs', () => Promise<unknown>>

/** Runs both in turn, and reports the medians of their milliseconds. */
async function compare(
  report: Report,
  measure: string,
  yardstick: string,
  target: string,
  pair: Pair,
  rounds = ROUNDS,
): Promise<void> {
  const times: Record<keyof Pair, number[]> = { ours: [], theirs: [] }
  // The first round warms up.
  for (let round = 0; round <= rounds; round++)
    for (const who of round % 2 === 0 ? (['ours', 'theirs'] as const) : (['theirs', 'ours'] as const)) {
      const begun = performance.now()
      await pair[who]()
      if (round > 0) times[who].push(performance.now() - begun)
    }
  const [ours, theirs] = [median(times.ours), median(times.theirs)]
  report({
    measure: `${measure}, ms`,
    result: short(ours),
    yardstick: `${yardstick} ${short(theirs)}`,
    ratio: ours / theirs,
    target,
  })
}

async function iterate(waxwing: Waxwing): Promise<void> {
  let count = 0
  for await (const { subject } of waxwing.messages.list({ accountId: 'a', limit: PAGE }))
    count += subject ? 1 : 0
  if (count !== MESSAGES) throw new Error(`${count} messages`)
}

async function readPages(address: string): Promise<void> {
  let count = 0
  for (let cursor: string | null = '0'; cursor !== null;) {
    const answer = await fetch(`${address}/v1/accounts/a/messages?limit=${PAGE}&cursor=${cursor}`)
    const page: { items: { subject: string }[]; nextCursor: string | null } = JSON.parse(await answer.text())
    for (const { subject } of page.items) count += subject ? 1 : 0
    cursor = page.nextCursor
  }
  if (count !== MESSAGES) throw new Error(`${count} messages`)
}

async function stream(waxwing: Waxwing): Promise<void> {
  let count = 0
  for await (const { id } of waxwing.changes.stream({ cursor: 'c' }))
    if (++count === EVENTS || id === '') break
}

/** Reads the lines with data, each of which is an event here. */
async function readLines(address: string): Promise<void> {
  const leaving = new AbortController()
  const { body } = await fetch(`${address}/v1/changes/stream?cursor=c`, { signal: leaving.signal })
  const decoder = new TextDecoder()
  let count = 0
  let rest = ''
  for await (const piece of body ?? []) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ') && JSON.parse(line.slice(6)).id !== '') count++
    if (count === EVENTS) break
  }
  leaving.abort()
}

async function compareVerification(report: Report): Promise<void> {
  const body = JSON.stringify({ id: '1', type: 'message.created', data: { text: 'x'.repeat(2000) } })
  const secret = `whsec_${SECRET_BYTES.toString('base64')}`
  const headers = await signWebhook({ id: '1', body }, secret)
  const usage = { name: 'HMAC', hash: 'SHA-256' }
  const signature = Buffer.from(headers['webhook-signature'].slice('v1,'.length), 'base64')
  const signed = Buffer.from(`1.${headers['webhook-timestamp']}.${body}`)
  await compare(
    report,
    `${VERIFICATIONS.toLocaleString('en-US')} webhooks of 2 KB verified`,
    'HMAC of Web Crypto',
    '≤ 2',
    {
      async ours() {
        for (let nth = 0; nth < VERIFICATIONS; nth++) await verifyWebhook(body, headers, secret)
      },
      async theirs() {
        for (let nth = 0; nth < VERIFICATIONS; nth++) {
          const key = await crypto.subtle.importKey('raw', SECRET_BYTES, usage, false, ['verify'])
          if (!(await crypto.subtle.verify('HMAC', key, signature, signed))) throw new Error('refused')
        }
      },
    },
  )
}

const CALL = `import { Waxwing } from '@waxwing/sdk'
const waxwing = new Waxwing({ baseUrl: 'https://mail.example.com', key: 'wk_x' })
export const page = await waxwing.messages.list({ accountId: 'a', unread: true })
`

async function compareCompilation(report: Report): Promise<void> {
  await using packed = await installPackedClient()
  const options = { strict: true, noEmit: true, module: 'nodenext', target: 'es2022', types: [] }
  const compile = (name: string) => () =>
    run(process.execPath, [TSC, '-p', `${name}.json`], { cwd: packed.folder })
  for (const [name, text] of [
    ['call', CALL],
    ['empty', 'export {}\n'],
  ] as const) {
    await writeFile(path.join(packed.folder, `${name}.ts`), text)
    const tsconfig = { compilerOptions: options, files: [`${name}.ts`] }
    await writeFile(path.join(packed.folder, `${name}.json`), JSON.stringify(tsconfig))
  }
  const pair = { ours: compile('call'), theirs: compile('empty') }
  await compare(report, 'tsc over one call', 'over an empty file', '≤ 1.5', pair, COMPILATIONS)
}

async function startServer() {
  const child: ChildProcess = fork(fileURLToPath(new URL('sdk-server-process.ts', import.meta.url)))
  const [port] = (await once(child, 'message')) as [number]
  return {
    address: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}
