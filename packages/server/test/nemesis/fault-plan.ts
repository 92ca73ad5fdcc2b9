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
export type FaultKind = (typeof PROCESS_FAULTS)[number] | (typeof WORLD_FAULTS)[number]

/** Something that will be done, and undone later. */
export interface PlannedFault {
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
  /** Faults last shorter, and come sooner one after the other. */
  isShort: boolean
}

const PAUSE_SECONDS = { long: [4, 14], short: [1, 4] } as const
const STOP_SECONDS = { long: [5, 60], short: [5, 14] } as const
const DATABASE_STOPPED_SECONDS = { long: [10, 30], short: [5, 8] } as const
const OTHER_SECONDS = { long: [3, 25], short: [2, 6] } as const

/**
 * Decides what happens when. The same seed makes the same plan. What is done to processes and what is done to the
 * world around them overlap; two faults of the same sort never do.
 */
export function planFaults(random: Random, options: PlanOptions): PlannedFault[] {
  const tracks = [
    planTrack(random.fork('processes'), PROCESS_FAULTS, options),
    planTrack(random.fork('world'), WORLD_FAULTS, options),
  ]
  return tracks.flat().toSorted((one, other) => one.atSeconds - other.atSeconds)
}

function planTrack(random: Random, kinds: readonly FaultKind[], options: PlanOptions): PlannedFault[] {
  const { seconds, processes, isShort } = options
  const pace = isShort ? 'short' : 'long'
  const faults: PlannedFault[] = []
  let waiting: FaultKind[] = []
  for (let at = between(random, PAUSE_SECONDS[pace]); at < seconds * 0.9;) {
    // Each kind comes once before any comes again.
    if (waiting.length === 0) waiting = shuffle(random, kinds)
    const kind = waiting.shift()
    if (kind === undefined) break
    const isOfProcess = (PROCESS_FAULTS as readonly FaultKind[]).includes(kind)
    const lasts = Math.min(durationOf(random, kind, pace), seconds - at)
    faults.push({
      kind,
      atSeconds: at,
      seconds: lasts,
      process: isOfProcess ? random.between(0, processes - 1) : null,
    })
    at += lasts + between(random, PAUSE_SECONDS[pace])
  }
  return faults
}

function durationOf(random: Random, kind: FaultKind, pace: 'long' | 'short'): number {
  if (kind === 'stop_process') return between(random, STOP_SECONDS[pace])
  if (kind === 'database_stopped') return between(random, DATABASE_STOPPED_SECONDS[pace])
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
