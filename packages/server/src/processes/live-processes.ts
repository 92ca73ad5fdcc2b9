import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'
import type { Share, Sharing } from '../kit/share.ts'
import { isClaimed } from './claims.ts'
import type { Instance } from './instance.ts'
import { isLive } from './lease.ts'
import type { Pulse } from './pulse.ts'
import { WokenLoop } from './woken-loop.ts'

/** The pulse reports changes, so the poll is only a safeguard. */
const POLL_SECONDS = 600
/** Without the role that needs most of a limit, a process still reads on demand, or checks a server: its weight is 1. */
const ROLE_WEIGHT = 4

interface Process {
  id: string
  roles: string[]
}

export interface LiveProcessesOptions {
  db: Db
  instance: Instance
  pulse: Pulse
  log: Logger
}

/**
 * The processes of the installation that hold a lease, as the database had them within the last second or two. A
 * process whose lease has lapsed counts itself nevertheless.
 */
export class LiveProcesses implements Sharing, AsyncDisposable {
  readonly #options: LiveProcessesOptions
  readonly #loop: WokenLoop
  readonly #listeners: Array<() => void> = []
  #processes: readonly Process[] = []

  private constructor(options: LiveProcessesOptions) {
    this.#options = options
    this.#loop = new WokenLoop({
      look: () => this.#look(),
      failure: 'Could not count the processes of the installation',
      log: options.log,
      listen: wake => options.pulse.ask({ isDue: () => this.#isDifferent(), onDue: wake }),
    })
  }

  /** Resolves after the first look. If that fails, this process takes itself to be alone until one succeeds. */
  static async start(options: LiveProcessesOptions): Promise<LiveProcesses> {
    const live = new LiveProcesses(options)
    await live.#loop.firstLook
    return live
  }

  /** This process included. */
  get count(): number {
    return Math.max(1, this.#processes.length + (this.#isListed ? 0 : 1))
  }

  /** The lease of this process; null while it has none. */
  get instanceId(): string | null {
    return this.#options.instance.lease?.id ?? null
  }

  /** Whether the process that a column names has a valid lease, by the database. */
  isClaimed(column: string): RawBuilder<boolean> {
    return isClaimed(column)
  }

  /** The processes with this role, without this one. */
  countOthers(role: string): number {
    return this.#processes.filter(({ id, roles }) => id !== this.instanceId && roles.includes(role)).length
  }

  /**
   * Beyond the one that each process has, those with the role get four times as much as others. The parts of all
   * processes together are the limit, unless there are more processes than that.
   */
  shareFor(role: string): Share {
    return limit => shareOf(limit, this.#weightsFor(role), this.#rank)
  }

  /** Calls the listener whenever a process has come or gone. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#loop[Symbol.asyncDispose]()
  }

  get #isListed(): boolean {
    return this.#processes.some(({ id }) => id === this.instanceId)
  }

  /** Processes without a lease come last. */
  get #rank(): number {
    const rank = this.#processes.findIndex(({ id }) => id === this.instanceId)
    return rank < 0 ? this.#processes.length : rank
  }

  #weightsFor(role: string): number[] {
    const weights = this.#processes.map(({ roles }) => (roles.includes(role) ? ROLE_WEIGHT : 1))
    return this.#isListed ? weights : [...weights, 1]
  }

  #isDifferent() {
    const known = this.#processes.map(({ id }) => id).join()
    return sql<boolean>`(select coalesce(string_agg(id::text, ',' order by id), '') <> ${known}::text from instance where ${isLive})`
  }

  async #look(): Promise<number> {
    const { rows } = await sql<Process>`
      select id::text as id, roles from instance where ${isLive} order by instance.id
    `.execute(this.#options.db)
    const before = this.#processes.map(({ id }) => id).join()
    this.#processes = rows
    if (rows.map(({ id }) => id).join() !== before) for (const listener of this.#listeners) listener()
    return POLL_SECONDS
  }
}

/** Divides a limit among processes: each gets 1, and of what is left a part by its weight. */
export function shareOf(limit: number, weights: readonly number[], rank: number): number {
  const left = Math.max(0, limit - weights.length)
  const before = (end: number) => Math.floor((left * sum(weights.slice(0, end))) / sum(weights))
  return 1 + before(rank + 1) - before(rank)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
