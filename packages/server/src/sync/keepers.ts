import type { HalfKind } from '../accounts/halves/kind.ts'
import type { RuntimeState } from '../accounts/halves/report.ts'
import type { Load } from '../processes/lease.ts'
import { Keeper, type KeeperOptions } from './keeper.ts'
import type { ClaimedAccount, OwnedAccount } from '../accounts/halves/ownership.ts'
import type { NudgedHalf } from '../accounts/halves/wanted.ts'
import type { Runner } from './runner.ts'
import { chooseReleased } from './spread.ts'

/** The accounts that this process follows. */
export class Keepers implements AsyncDisposable {
  readonly #options: Omit<KeeperOptions, 'lease'>
  readonly #onChange: () => void
  /** Those weighed longest ago come first. */
  readonly #kept = new Map<string, { keeper: Keeper; weight: number }>()
  /** Keepers that were told to stop and have not ended yet. */
  readonly #ending = new Set<Keeper>()
  readonly #nudged = new Set<Runner>()

  /** @param onChange called when an account was taken up, is about to leave, or is no longer followed */
  constructor(options: Omit<KeeperOptions, 'lease'>, onChange: () => void) {
    this.#options = options
    this.#onChange = onChange
  }

  get count(): number {
    return this.#kept.size
  }

  /** Counts the halves that are followed, by their kind and by what was last reported of them. */
  countHalves(): Array<{ kind: HalfKind; state: RuntimeState; count: number }> {
    const states = [...this.#kept.values()].flatMap(({ keeper }) => keeper.listStates())
    const groups = Map.groupBy(states, ({ kind, state }) => `${kind} ${state}`)
    return [...groups.values()].flatMap(group =>
      group.slice(0, 1).map(one => ({ ...one, count: group.length })),
    )
  }

  /** Finds the keeper of an account; null unless it follows the account under this epoch. */
  find({ id, epoch }: Pick<OwnedAccount, 'id' | 'epoch'>): Keeper | null {
    const keeper = this.#kept.get(id)?.keeper
    return keeper?.owned.epoch === epoch ? keeper : null
  }

  has(accountId: string): boolean {
    return this.#kept.has(accountId)
  }

  /** What this process will follow once the accounts that are leaving have left. */
  get load(): Load {
    return this.#add(({ isLeaving }) => !isLeaving)
  }

  get leaving(): Load {
    return this.#add(({ isLeaving }) => isLeaving)
  }

  #add(isCounted: (keeper: Keeper) => boolean): Load {
    const weights = [...this.#kept.values()].filter(({ keeper }) => isCounted(keeper))
    return { accounts: weights.length, weight: weights.reduce((total, { weight }) => total + weight, 0) }
  }

  keep(claimed: ClaimedAccount, lease: AbortSignal): void {
    const before = this.#kept.get(claimed.id)?.keeper
    if (before) this.#end(before)
    const keeper = new Keeper(claimed, { ...this.#options, lease })
    this.#kept.set(claimed.id, { keeper, weight: claimed.weight })
    const forget = () => {
      this.#ending.delete(keeper)
      if (this.#kept.get(claimed.id)?.keeper === keeper) this.#kept.delete(claimed.id)
      this.#onChange()
    }
    keeper.finished.then(forget, (error: unknown) => {
      this.#options.log.error({ error, accountId: claimed.id }, 'Following an account ended with an error')
      forget()
    })
    this.#onChange()
  }

  /** The ids of the accounts that were weighed longest ago. */
  listWeighedFirst(limit: number): string[] {
    return [...this.#kept.keys()].slice(0, limit)
  }

  weigh(accountId: string, weight: number): void {
    const kept = this.#kept.get(accountId)
    if (!kept) return
    this.#kept.delete(accountId)
    this.#kept.set(accountId, { ...kept, weight })
  }

  /** Lets accounts of this weight leave, up to `atOnce` at a time: first those in which nothing is under way. */
  release(excess: number, atOnce: number): void {
    const staying = [...this.#kept.values()].filter(({ keeper }) => !keeper.isLeaving)
    const isQuiet = ({ keeper }: { keeper: Keeper }) => !keeper.isSyncing
    const ordered = [...staying.filter(isQuiet), ...staying.filter(kept => !isQuiet(kept))]
    for (const { keeper } of chooseReleased(ordered, excess, atOnce - this.leaving.accounts)) keeper.leave()
    this.#onChange()
  }

  /** Stops following accounts between these ids that are not listed, since they have another owner or none. */
  stopOthers(
    listed: ReadonlyArray<Pick<OwnedAccount, 'id' | 'epoch'>>,
    { after, upTo }: { after: string; upTo: string | null },
  ): void {
    const epochs = new Map(listed.map(({ id, epoch }) => [id, epoch]))
    for (const { keeper } of this.#kept.values()) {
      const { id, epoch } = keeper.owned
      if (id > after && (upTo === null || id <= upTo) && epochs.get(id) !== epoch)
        void keeper[Symbol.asyncDispose]()
    }
  }

  nudge(runner: Runner): void {
    runner.nudge.fire()
    this.#nudged.add(runner)
  }

  /** Halves whose runners were nudged and have not begun to look yet, since they read older data, for example. */
  listNudged(): NudgedHalf[] {
    for (const runner of this.#nudged)
      if (!runner.nudge.signal.aborted || !this.find(runner.account.owned)) this.#nudged.delete(runner)
    return [...this.#nudged].map(({ account: { owned }, kind }) => ({ accountId: owned.id, kind }))
  }

  #end(keeper: Keeper): void {
    this.#ending.add(keeper)
    void keeper[Symbol.asyncDispose]()
  }

  /** For keepers that stop by themselves, since their lease lapsed. Nothing that they wait for is waited for. */
  dropAll(): void {
    for (const { keeper } of this.#kept.values()) this.#ending.add(keeper)
    this.#kept.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const keepers = [...[...this.#kept.values()].map(({ keeper }) => keeper), ...this.#ending]
    await Promise.all(keepers.map(keeper => keeper[Symbol.asyncDispose]()))
  }
}
