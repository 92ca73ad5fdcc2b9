import type { Random } from '../seeded.ts'

export const PROCESS_FAULTS = [
  'kill_process',
  'stop_process',
  'restart_process',
  'cut_database',
  'cut_database_one_way',
] as const
export const WORLD_FAULTS = [
  'database_fast',
  'database_immediate',
  'database_kill',
  'database_stopped',
  'database_slow',
  'imap_cut',
  'imap_stalled',
  'imap_one_way',
  'imap_slow',
  'imap_short',
  'imap_silent',
  'smtp_cut',
  'smtp_stalled',
  'smtp_one_way',
  'smtp_rude',
] as const
/** Faults of the world that only long runs have. */
export const LONG_WORLD_FAULTS = ['database_failover', 'clock_ahead'] as const
/** Faults of Redis and of the object store. */
export const STORE_FAULTS = [
  'redis_stopped',
  'redis_killed',
  'redis_slow',
  'redis_one_way',
  'redis_cut',
  'redis_flushed',
  's3_failing',
  's3_stalled',
  's3_slow',
  's3_short',
  's3_cut',
] as const
/** Faults of Microsoft Graph and of the sign-in there. */
export const GRAPH_FAULTS = [
  'graph_throttled',
  'graph_throttled_until',
  'graph_failing',
  'graph_lost',
  'graph_torn',
  'graph_hanging',
  'graph_slow',
  'graph_token_refused',
  'graph_links_expired',
  'graph_changes_untold',
  'graph_pushes_lost',
  'graph_pushes_doubled',
  'graph_subscriptions_removed',
  'login_failing',
] as const
/** Faults of the network to the server of address books. */
export const BOOK_FAULTS = [
  'books_cut',
  'books_stalled',
  'books_one_way',
  'books_slow',
  'books_short',
  'books_refused',
] as const
export const FAULT_KINDS = [
  ...PROCESS_FAULTS,
  ...WORLD_FAULTS,
  ...LONG_WORLD_FAULTS,
  ...STORE_FAULTS,
  ...GRAPH_FAULTS,
  ...BOOK_FAULTS,
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** Faults of different tracks overlap; those of one track come one after the other. */
export type FaultTrack = 'processes' | 'world' | 'stores' | 'graph' | 'books'

/** Something that will be done, and undone later. */
export interface PlannedFault {
  track: FaultTrack
  kind: FaultKind
  /** Seconds after the start. */
  atSeconds: number
  /** How long it lasts, if it lasts at all. */
  seconds: number
  /** The number of the process that it is done to, from 0; null if it is done to none. */
  process: number | null
}

export interface PlanOptions {
  /** Length of the whole run; no fault begins in its last tenth. */
  seconds: number
  processes: number
  /** Whether there are Redis and an object store, which can fail. */
  hasStores: boolean
  /** Faults last shorter, and come sooner one after the other. */
  isShort: boolean
  /** Only faults of these kinds, if given. */
  only?: ReadonlySet<FaultKind> | undefined
}

const PAUSE_SECONDS = { long: [4, 14], short: [1, 4] } as const
const STOP_SECONDS = { long: [5, 60], short: [5, 14] } as const
const DATABASE_STOPPED_SECONDS = { long: [10, 30], short: [5, 8] } as const
/** A server of time that is wrong is noticed and mended soon. */
const CLOCK_AHEAD_SECONDS = [45, 45] as const
const OTHER_SECONDS = { long: [3, 25], short: [2, 6] } as const

/** Decides what happens when. The same seed makes the same plan. */
export function planFaults(random: Random, options: PlanOptions): PlannedFault[] {
  const tracks = [
    planTrack(random, 'processes', options),
    planTrack(random, 'world', options),
    planTrack(random, 'graph', options),
    planTrack(random, 'books', options),
    ...(options.hasStores ? [planTrack(random, 'stores', options)] : []),
  ]
  return tracks.flat().toSorted((one, other) => one.atSeconds - other.atSeconds)
}

const KINDS: Record<FaultTrack, readonly FaultKind[]> = {
  processes: PROCESS_FAULTS,
  world: WORLD_FAULTS,
  stores: STORE_FAULTS,
  graph: GRAPH_FAULTS,
  books: BOOK_FAULTS,
}

function planTrack(parent: Random, track: FaultTrack, options: PlanOptions): PlannedFault[] {
  const { seconds, processes, isShort, only } = options
  const random = parent.fork(track)
  const all = track === 'world' && !isShort ? [...KINDS.world, ...LONG_WORLD_FAULTS] : KINDS[track]
  const kinds = only ? all.filter(kind => only.has(kind)) : all
  const pace = isShort ? 'short' : 'long'
  const faults: PlannedFault[] = []
  let waiting: FaultKind[] = []
  for (let at = between(random, PAUSE_SECONDS[pace]); at < seconds * 0.9;) {
    // Each kind comes once before any comes again.
    if (waiting.length === 0) waiting = shuffle(random, kinds)
    const kind = waiting.shift()
    if (kind === undefined) break
    const lasts = Math.min(durationOf(random, kind, pace), seconds - at)
    faults.push({
      track,
      kind,
      atSeconds: at,
      seconds: lasts,
      process: track === 'processes' ? random.between(0, processes - 1) : null,
    })
    at += lasts + between(random, PAUSE_SECONDS[pace])
  }
  return faults
}

function durationOf(random: Random, kind: FaultKind, pace: 'long' | 'short'): number {
  if (kind === 'stop_process') return between(random, STOP_SECONDS[pace])
  if (kind === 'database_stopped') return between(random, DATABASE_STOPPED_SECONDS[pace])
  if (kind === 'clock_ahead') return between(random, CLOCK_AHEAD_SECONDS)
  return between(random, OTHER_SECONDS[pace])
}

function between(random: Random, [from, to]: readonly [number, number]): number {
  return from + random.next() * (to - from)
}

function shuffle<Item>(random: Random, items: readonly Item[]): Item[] {
  const left = [...items]
  return items.map(() => {
    const [item] = left.splice(random.between(0, left.length - 1), 1)
    // There is one left for each that is asked for.
    return item as Item
  })
}
