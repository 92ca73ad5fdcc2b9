import type { Instance } from '../../../processes/instance.ts'
import type { Lease } from '../../../processes/lease.ts'
import type { Pulse } from '../../../processes/pulse.ts'
import { WokenLoop } from '../../../processes/woken-loop.ts'
import { type AttemptServices, makeAttempt, readClaimed, type ReadForAttempt } from './attempt.ts'
import { type AttemptOutcome, attemptRecords } from './attempt-records.ts'
import {
  claimDue,
  type ClaimedEntry,
  type DueAccounts,
  findPending,
  findPendingAndDue,
  isPending,
  listDueAccounts,
  type Pending,
  recoverClaims,
} from './claims.ts'
import { holdAfterRestore } from './held.ts'
import { claimTasks, type Task } from './record-task.ts'
import { settleLost } from './settle-lost.ts'
import { cancelOfDeleted } from './sweep.ts'
import { doTask, type TaskServices } from './tasks.ts'
import {
  countRunning,
  HANGS_AFTER_SECONDS,
  planShares,
  type Running,
  type RunningSend,
  SENDS_AT_ONCE,
  SENDS_PER_HOST,
} from './send-shares.ts'

/** The pulse, wakes and due times find due entries; this poll is only a safeguard. */
const POLL_SECONDS = 30
/** Looks are cheap, and places for sends are free until the next one. */
const LOOK_INTERVAL_MILLISECONDS = 4
const TASKS_AT_ONCE = 20

export interface OutboxWorkerOptions extends Omit<AttemptServices, 'records'>, TaskServices {
  instance: Instance
  pulse: Pulse
  onAttempt(outcome: AttemptOutcome): void
}

interface StartedSend extends RunningSend {
  ended: Promise<void>
}

/**
 * Sends due entries. Entries and tasks are claimed under the lease of the process. Disposing stops claiming, gives back
 * entries that were not handed over, and waits for the answers to the others.
 */
export class OutboxWorker implements AsyncDisposable {
  readonly #options: OutboxWorkerOptions
  readonly #services: AttemptServices
  readonly #loop: WokenLoop
  readonly #sends = new Map<string, StartedSend>()
  readonly #tasks = new Map<string, Promise<void>>()

  constructor(options: OutboxWorkerOptions) {
    this.#options = options
    this.#services = { ...options, records: attemptRecords(options.db, options.onEnded) }
    this.#loop = new WokenLoop({
      look: signal => this.#look(signal),
      listen: wake => {
        const { instance, pulse } = options
        const running = () => ({ sends: [...this.#sends.keys()], tasks: [...this.#tasks.keys()] })
        const isDue = () => instance.lease && isPending(instance.lease, running())
        return pulse.ask({ isDue, onDue: wake })
      },
      intervalMilliseconds: LOOK_INTERVAL_MILLISECONDS,
      failure: 'Could not look for messages to send',
      log: options.log,
    })
  }

  /** Makes the worker look for due entries. Returns at once and never throws. */
  wake(): void {
    this.#loop.wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    await Promise.all([...this.#sends.values()].map(({ ended }) => ended))
    await Promise.all(this.#tasks.values())
  }

  async #look(stopped: AbortSignal): Promise<number> {
    const { db, instance } = this.#options
    const lease = await instance.awaitLease(stopped)
    const signal = AbortSignal.any([stopped, lease.lapsed])
    const running = [...this.#sends.keys()]
    const { pending, due } = await this.#findWork(lease, running)
    if (pending.isRestored) await holdAfterRestore(db)
    if (pending.hasLost) {
      await recoverClaims(db, lease, running)
      this.#options.onEnded(await settleLost(db, { lease, running }, signal))
    }
    const isStale = pending.isRestored || pending.hasLost
    const started =
      pending.hasDueAccounts || pending.hasLost
        ? await this.#startSends(lease, isStale ? null : due, signal)
        : 0
    if (pending.hasDueTasks || pending.isRestored) await this.#startTasks(lease, signal)
    // There may be more that is due, or was left over from the shares.
    if (started > 0) return 0
    return Math.min(Math.max(pending.seconds ?? POLL_SECONDS, 0), POLL_SECONDS)
  }

  /** While messages are sent, most looks find more of them. */
  async #findWork(
    lease: Lease,
    running: readonly string[],
  ): Promise<{ pending: Pending; due: DueAccounts | null }> {
    const { db } = this.#options
    if (running.length === 0) return { pending: await findPending(db, lease, running), due: null }
    return findPendingAndDue(db, lease, { running, busyHosts: this.#busyHosts() })
  }

  #busyHosts(): string[] {
    return [...this.#running().hosts].flatMap(([host, count]) => (count >= SENDS_PER_HOST ? [host] : []))
  }

  /** @param listed null: not looked for yet. Returns how many. */
  async #startSends(lease: Lease, listed: DueAccounts | null, signal: AbortSignal): Promise<number> {
    const { db } = this.#options
    const { usable, deletedIds } = listed ?? (await listDueAccounts(db, this.#busyHosts()))
    const running = this.#running()
    if (running.total >= SENDS_AT_ONCE) return 0
    if (deletedIds.length > 0) await cancelOfDeleted(db, deletedIds, signal)
    const shares = planShares(usable, running)
    // Accounts with nothing that is due are claimed as well: that corrects their time.
    for (const { accountId, due } of usable) if (due === 0) shares.set(accountId, 0)
    const hostOf = new Map(usable.map(({ accountId, host }) => [accountId, host]))
    const claimed = await claimDue(db, lease, shares)
    if (claimed.length === 0) return 0
    const read = readClaimed(db, claimed)
    for (const entry of claimed)
      this.#startSend(entry, read, { host: hostOf.get(entry.accountId) ?? '', signal })
    return claimed.length
  }

  #startSend(
    entry: ClaimedEntry,
    read: Promise<ReadForAttempt>,
    { host, signal }: { host: string; signal: AbortSignal },
  ): void {
    const { tenantId, accountId } = entry
    const sending = { tenantId, accountId, host, isHanging: false, isOver: false }
    let timer: NodeJS.Timeout | undefined
    const change = (what: Partial<RunningSend>) => {
      clearTimeout(timer)
      Object.assign(sending, what)
      this.#loop.wake()
    }
    const progress = {
      onHandedOver: () => {
        clearTimeout(timer)
        // It may have been handed over before, on a connection that was lost.
        if (sending.isHanging) change({ isHanging: false })
        timer = setTimeout(() => change({ isHanging: true }), HANGS_AFTER_SECONDS * 1_000)
      },
      onOver: () => change({ isHanging: false, isOver: true }),
    }
    const ended = makeAttempt(this.#services, entry, { read, progress }, signal).then(outcome => {
      clearTimeout(timer)
      this.#sends.delete(entry.id)
      this.#options.onAttempt(outcome)
      this.#loop.wake()
    })
    this.#sends.set(entry.id, Object.assign(sending, { ended }))
  }

  async #startTasks(lease: Lease, signal: AbortSignal): Promise<void> {
    const room = TASKS_AT_ONCE - this.#tasks.size
    if (room <= 0) return
    for (const task of await claimTasks(this.#options.db, lease, room, [...this.#tasks.keys()]))
      this.#startTask(task, signal)
  }

  #startTask(task: Task, signal: AbortSignal): void {
    const ended = doTask(this.#options, task, signal).then(() => {
      this.#tasks.delete(task.id)
      this.#loop.wake()
    })
    this.#tasks.set(task.id, ended)
  }

  #running(): Running {
    return countRunning([...this.#sends.values()])
  }
}
