/**
 * Sends requests generated from the OpenAPI document (valid, at the limits, hostile) and checks each answer against the
 * document: its status and reason are those of the operation, its body fits its schema, nothing that the document
 * forbids is accepted, there is an X-Request-Id, no fault of the service, and no answer takes long. At the end, each
 * request that may change something has its row in the audit log, and no other has one.
 *
 * `requests.ts` generates the requests, `world.ts` their targets, and `held-against-document.ts` judges the answers. A
 * new operation or parameter takes part by itself.
 *
 *     WAXWING_FUZZ_REQUESTS=50000 npx vitest run door-fuzz      # more than CI sends
 *     WAXWING_FUZZ_SEED=random npx vitest run door-fuzz         # other requests; a failure prints its seed
 *     WAXWING_FUZZ_SEED=123 npx vitest run door-fuzz            # those of a seed again
 */
import { Agent, request } from 'node:http'
import fc from '../property.ts'
import { expect, test } from 'vitest'
import { type FuzzAnswer, type SentRequest, problemsOf } from './held-against-document.ts'
import { ExpectedRows } from './held-against-log.ts'
import { type FuzzRequest, requests } from './requests.ts'
import { openFuzzWorld } from './world.ts'

const REQUESTS = Number(process.env['WAXWING_FUZZ_REQUESTS'] ?? 1000)
/** The same requests in each run, so that a failure is caused by the change under test. `random` looks for new ones. */
const asked = process.env['WAXWING_FUZZ_SEED'] ?? '9'
const SEED = asked === 'random' ? Date.now() % 2 ** 31 : Number(asked)
const MILLISECONDS_PER_REQUEST = 500
/** The part of a request that a failure message shows. */
const SHOWN_CHARACTERS = 3000

test(
  'answers every request as documented',
  { timeout: 300_000 + REQUESTS * MILLISECONDS_PER_REQUEST },
  async () => {
    await using world = await openFuzzWorld()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    using _ = { [Symbol.dispose]: () => agent.destroy() }
    const statuses = new Map<number, number>()
    const expectedRows = new ExpectedRows()

    await fc.assert(
      fc.asyncProperty(requests, async fuzzed => {
        const sent = fillIn(fuzzed, world.fill)
        const answer = await send(world.app.address, agent, fuzzed.method, sent)
        expectedRows.note(fuzzed.operationId, answer)
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        const problems = problemsOf(fuzzed.operationId, { ...sent, method: fuzzed.method }, answer)
        if (problems.length === 0) return
        const shown = JSON.stringify({ method: fuzzed.method, ...sent }).slice(0, SHOWN_CHARACTERS)
        throw new Error(
          `WAXWING_FUZZ_SEED=${SEED}: the answer ${problems.join('; ')}\n${shown}\n${answer.status} ${answer.text.slice(0, SHOWN_CHARACTERS)}`,
        )
      }),
      { numRuns: REQUESTS, seed: SEED },
    )

    expect(await expectedRows.findProblems(world.app.db)).toEqual([])
    // A world in which nothing succeeds would prove nothing.
    expect((statuses.get(200) ?? 0) / REQUESTS).toBeGreaterThan(0.15)
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([400, 401, 403, 404]))
  },
)

test.each([
  ['a page of HTML', 'text/html', '<h1>Not Found</h1>'],
  ['another text', 'text/plain', '404 Not Found'],
  ['nothing', undefined, ''],
  ['JSON of another shape', 'application/json', '{"error":"not found"}'],
  [
    'another status in the body',
    'application/json',
    '{"defined":false,"code":"x","status":400,"message":"No."}',
  ],
])('rejects an error that is %s', (_, type, text) => {
  const headers = { 'x-request-id': 'mine', 'content-type': type }
  const sent = { method: 'GET', query: [], body: null, headers: {} }
  expect(problemsOf(null, sent, { status: 404, headers, text, seconds: 0 })).not.toEqual([])
})

type Sent = SentRequest & { path: string }

function fillIn({ path, query, body, headers }: FuzzRequest, fill: (text: string) => string): Sent {
  return {
    path: fill(path),
    query: query.map(([name, value]) => [name, fill(value)]),
    body: body === null ? null : fill(body),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)])),
  }
}

/** Sends a request exactly as given; a client in between would correct it. */
function send(address: string, agent: Agent, method: string, sent: Sent): Promise<FuzzAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<FuzzAnswer>()
  const startedAt = performance.now()
  const query = sent.query
    .map(
      ([name, value]) =>
        `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(value.toWellFormed())}`,
    )
    .join('&')
  const outgoing = request(address, {
    agent,
    method,
    path: query === '' ? sent.path : `${sent.path}?${query}`,
    headers: {
      ...sent.headers,
      ...(sent.body !== null && { 'content-length': Buffer.byteLength(sent.body) }),
    },
  })
  outgoing.on('error', reject)
  outgoing.on('response', async incoming => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk)
    } catch (error) {
      return reject(error)
    }
    resolve({
      status: incoming.statusCode ?? 0,
      // Only some headers are lists, and none of them is read.
      headers: incoming.headers as Record<string, string | undefined>,
      text: Buffer.concat(chunks).toString(),
      seconds: (performance.now() - startedAt) / 1000,
    })
  })
  outgoing.end(sent.body ?? undefined)
  return promise
}
