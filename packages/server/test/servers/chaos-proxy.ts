import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { seeded } from '../seeded.ts'
import type { Faults } from './chaos-faults.ts'
import { ChaosLink } from './chaos-link.ts'

export interface ChaosProxy extends AsyncDisposable {
  readonly host: string
  readonly port: number
  readonly stats: ChaosStats
  /** May be replaced at any time: counts from the next line on, for cuts from the next connection on. */
  faults: Faults
  /** Closes every connection, without a word. */
  cutAll(): void
  /** Sends BYE on every connection and closes it. */
  byeAll(text?: string): void
}

export interface ChaosStats {
  connections: number
  connectionsMax: number
  /** When each connection came, in ms since the epoch. */
  connectedAt: number[]
  cuts: number
  /** How often each command came, in upper case: `UID FETCH`, `LOGIN`. */
  commands: Map<string, number>
  /** The last command lines without their tags, oldest first; of LOGIN and AUTHENTICATE the name alone. */
  lines: string[]
}

const LINES_KEPT_MAX = 10_000

/** Stands between clients and a server of plain IMAP on this machine, and applies `faults` to both. */
export async function startChaosProxy(
  target: { host: string; port: number },
  faults: Faults = {},
  seed: number | string = 1,
): Promise<ChaosProxy> {
  const random = seeded(seed)
  const links = new Set<ChaosLink>()
  const stats = emptyStats()
  const server = createServer(client => {
    countConnection(stats)
    const link = new ChaosLink(client, connect(target.port, target.host), {
      faults: () => proxy.faults,
      onCommand: line => countCommand(stats, line),
      onCut: () => stats.cuts++,
    })
    links.add(link)
    client.once('close', () => links.delete(link))
    // Its end is known before the next connection, but not whether it is closed by then.
    let isCounted = true
    const discount = () => {
      if (isCounted) stats.connections--
      isCounted = false
    }
    for (const event of ['end', 'error', 'close']) client.once(event, discount)
    if (proxy.faults.byeAtGreeting !== undefined) link.bye(proxy.faults.byeAtGreeting)
    else if (stats.cuts < (proxy.faults.cutsMax ?? Infinity)) link.arm(random)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()

  const proxy: ChaosProxy = {
    host: '127.0.0.1',
    port: typeof address === 'object' && address ? address.port : 0,
    stats,
    faults,
    cutAll: () => links.forEach(link => link.close()),
    byeAll: (text = 'Server is shutting down') => links.forEach(link => link.bye(text)),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      proxy.cutAll()
      await closed
    },
  }
  return proxy
}

function emptyStats(): ChaosStats {
  return { connections: 0, connectionsMax: 0, connectedAt: [], cuts: 0, commands: new Map(), lines: [] }
}

function countConnection(stats: ChaosStats) {
  stats.connections++
  stats.connectionsMax = Math.max(stats.connectionsMax, stats.connections)
  stats.connectedAt.push(Date.now())
}

function countCommand(stats: ChaosStats, line: string) {
  const command = line.slice(line.indexOf(' ') + 1)
  const name = (/^(UID )?\S+/i.exec(command)?.[0] ?? '').toUpperCase()
  stats.commands.set(name, (stats.commands.get(name) ?? 0) + 1)
  // A password follows these commands.
  stats.lines.push(name === 'LOGIN' || name === 'AUTHENTICATE' ? name : command)
  if (stats.lines.length > LINES_KEPT_MAX) stats.lines.shift()
}
