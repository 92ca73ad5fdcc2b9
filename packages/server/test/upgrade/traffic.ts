import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntil } from '../wait-until.ts'

/** Actions and results of the callers of all processes. */
export interface TrafficReport {
  /** Every answer that was not a success. */
  failures: string[]
  /** Tokens that were created. */
  tokens: number
  /** The states of the account that were set, in order, and the states in the change feed. */
  announced: string[]
  heard: string[]
}

/** Disposing it ends it, without a report. */
export interface Traffic extends AsyncDisposable {
  /** Sends requests to this process, too. */
  add(address: string): void
  /** Ends a process. Requests go to it until it reports that it is not ready. */
  remove(address: string, end: () => Promise<void>): Promise<void>
  /** Waits until every kind of caller has been served by every process. */
  goesOn(): Promise<void>
  stop(): Promise<TrafficReport>
}

interface Answered {
  status: number
  body: Record<string, unknown>
}

const READY_MILLISECONDS = 100
/** Between two requests of a caller: the test needs a stream of requests and not a load. */
const PAUSE_MILLISECONDS = 25

/** Reads and writes of a tenant, spread over the ready processes as a load balancer does. */
export function startTraffic({ key, accountId }: { key: string; accountId: string }): Traffic {
  const ready = new Set<string>()
  const known = new Set<string>()
  const over = new AbortController()
  const report: TrafficReport = { failures: [], tokens: 0, announced: [], heard: [] }
  const served = new Map<string, number>()
  let nth = 0

  async function lookAt(address: string) {
    const isReady = await send(address, 'GET', '/health/ready').then(
      ({ status }) => status === 200,
      () => false,
    )
    if (isReady && known.has(address)) ready.add(address)
    else ready.delete(address)
  }

  async function watchReadiness() {
    while (!over.signal.aborted) {
      await Promise.all([...known].map(lookAt))
      await sleep(READY_MILLISECONDS)
    }
  }

  async function call(kind: string, method: string, path: string, body?: unknown): Promise<Answered | null> {
    const addresses = [...ready]
    const address = addresses[nth++ % addresses.length]
    try {
      if (address === undefined) throw new Error('No process is ready')
      const answered = await send(address, method, path, key, body)
      if (answered.status === 200) {
        const name = `${kind} by ${address}`
        served.set(name, (served.get(name) ?? 0) + 1)
        return answered
      }
      // On a busy machine; the caller comes again.
      if (answered.body['code'] === 'overloaded') return null
      report.failures.push(`${kind} by ${address}: ${answered.status} ${JSON.stringify(answered.body)}`)
    } catch (error) {
      report.failures.push(`${kind} by ${address}: ${String(error)}`)
    }
    return null
  }

  const account = `/v1/accounts/${accountId}`
  const kinds: Record<string, () => Promise<unknown>> = {
    'list accounts': () => call('list accounts', 'GET', '/v1/accounts'),
    'list messages': () => call('list messages', 'GET', `${account}/messages`),
    'read settings': () => call('read settings', 'GET', '/v1/settings'),
    async 'create token'() {
      if (await call('create token', 'POST', `${account}/tokens`, {})) report.tokens++
    },
    async 'set status'() {
      const status = report.announced.length % 2 === 0 ? 'paused' : 'active'
      if (await call('set status', 'PATCH', account, { status })) report.announced.push(status)
    },
    'follow feed': follow,
  }

  let cursor = ''
  async function follow() {
    const answered = await call('follow feed', 'GET', `/v1/changes?limit=100${cursor}`)
    if (!answered) return
    const { items, nextCursor } = answered.body as {
      items: Array<{ data: { account?: { status: string } } }>
      nextCursor: string
    }
    report.heard.push(...items.flatMap(({ data }) => data.account?.status ?? []))
    cursor = `&cursor=${encodeURIComponent(nextCursor)}`
  }

  const loops = Object.values(kinds).map(async work => {
    while (!over.signal.aborted) {
      if (ready.size > 0) await work()
      await sleep(PAUSE_MILLISECONDS)
    }
  })
  const watching = watchReadiness()
  const endCallers = async () => {
    over.abort()
    await Promise.all([...loops, watching])
  }

  return {
    add: address => void known.add(address),
    async remove(address, end) {
      await end()
      known.delete(address)
      ready.delete(address)
    },
    async goesOn() {
      await waitUntil('the processes to be ready', async () => ready.size === known.size)
      served.clear()
      const all = [...known].flatMap(address => Object.keys(kinds).map(kind => `${kind} by ${address}`))
      await waitUntil('all callers to be served by all', async () =>
        all.every(name => (served.get(name) ?? 0) > 2),
      )
    },
    async stop() {
      await endCallers()
      await waitUntil('the feed to have everything', async () => {
        await follow()
        return report.heard.length >= report.announced.length
      })
      return report
    },
    [Symbol.asyncDispose]: endCallers,
  }
}

/** A request over a connection of its own, as from a load balancer that keeps none open. */
function send(
  address: string,
  method: string,
  path: string,
  key?: string,
  body?: unknown,
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const sent = request(new URL(path, address), { method, headers, agent: false }, answer => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => void (text += chunk))
      answer.once('error', reject)
      answer.once('end', () => {
        // Only JSON is asked for; the health checks are not read.
        const isJson = answer.headers['content-type']?.startsWith('application/json') === true
        resolve({ status: answer.statusCode ?? 0, body: isJson ? JSON.parse(text) : {} })
      })
    })
    sent.once('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
