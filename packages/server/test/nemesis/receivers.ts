import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { answering, startReceiver, type Temper } from '../notifications/receiver.ts'
import type { Random } from '../seeded.ts'
import type { History } from './history.ts'

/** Manner of the answers of a receiver. `gone` answers 410 once, after some webhooks; the others do not change. */
export const TEMPERS = [
  'good',
  'slow',
  'good',
  'flapping',
  'good',
  'failing',
  'resetting',
  'good',
  'throttling',
  'hanging',
  'good',
  'redirecting',
  'good',
  'flapping',
  'pouring',
  'good',
  'slow',
  'good',
  'gone',
  'good',
] as const
export type TemperName = (typeof TEMPERS)[number]

const FLAP_SECONDS = 7
const POURED_BYTES = 300_000

export interface Receivers extends AsyncDisposable {
  /** The URL of an endpoint. Each path below it is the same endpoint. */
  urlOf(name: string): string
  /** From now on, all answer well. */
  calm(): void
}

/** Starts the receivers of webhooks, one for each name, which note all that arrives. */
export async function startReceivers(
  tempers: ReadonlyMap<string, TemperName>,
  random: Random,
  history: History,
): Promise<Receivers> {
  const receiver = await startReceiver()
  let isCalm = false
  const answer: Record<TemperName, () => Temper> = {
    good: () => answering(204),
    slow: () => {
      const milliseconds = random.between(200, 3_000)
      return response => void sleep(milliseconds).then(() => response.writeHead(200).end())
    },
    flapping: () => answering(Math.floor(Date.now() / 1_000 / FLAP_SECONDS) % 2 === 0 ? 200 : 500),
    failing: () => answering(500),
    resetting: () => (_, request) => void request.socket.resetAndDestroy(),
    throttling: () => (random.chance(0.5) ? answering(429, { 'retry-after': '2' }) : answering(200)),
    hanging: () => () => {},
    redirecting: () => answering(302, { location: '/elsewhere' }),
    pouring: () => response => void response.writeHead(200).end('x'.repeat(POURED_BYTES)),
    gone: () => answering(random.chance(0.05) ? 410 : 200),
  }
  for (const [name, temper] of tempers) {
    const take: Temper = (response, request, received) => {
      const from = Date.now()
      // The history has it; what the receiver keeps would only fill the memory.
      receiver.received.length = 0
      response.once('close', () => {
        const status = response.writableFinished ? response.statusCode : null
        const { event, body, headers } = received
        const digest = createHash('sha256').update(body).digest('base64')
        const webhookId = String(headers['webhook-id'])
        const noted = { endpoint: name, webhookId, eventId: event.id, digest, status }
        history.add({ type: 'webhook', from, at: Date.now(), ...noted })
      })
      const answered = isCalm ? answering(204) : answer[temper]()
      answered(response, request, received)
    }
    for (const path of pathsOf(name)) receiver.tempers[path] = take
  }
  return {
    urlOf: name => `${receiver.url}${pathsOf(name)[0]}`,
    calm: () => void (isCalm = true),
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  }
}

/** Both paths of an endpoint: it may be edited from one to the other. */
function pathsOf(name: string): [string, string] {
  return [`/${name}`, `/${name}/moved`]
}
