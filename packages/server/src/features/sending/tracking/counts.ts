import type { Judgement, MachineReason, TrackingItem } from './judge.ts'

/** Opens and clicks of a message that are kept and announced one by one; beyond, only its counts grow. */
export const ITEMS_MAX = 1000

/** Something that counts. */
export interface Counted {
  kind: 'open' | 'click'
  isMachine: boolean
}

interface Count {
  /** Opens and clicks of people. */
  count: number
  machineCount: number
  /** Times of acts of people, in milliseconds since 1970. */
  firstAt: number | null
  lastAt: number | null
}

/** The effect of judgements of one message. */
export interface Counts {
  kept: Array<{ item: TrackingItem; verdict: 'person' | MachineReason }>
  /** Items of which nothing is kept. */
  dropped: TrackingItem[]
  counted: Counted[]
  opens: Count
  clicks: Count
  /** Clicks of people by the index of the link. */
  linkClicks: Record<number, number>
}

/** @param items how many items of the message are kept already */
export function countJudgements(judgements: readonly Judgement[], items: number): Counts {
  const nothing = (): Count => ({ count: 0, machineCount: 0, firstAt: null, lastAt: null })
  const counts: Counts = {
    kept: [],
    dropped: [],
    counted: [],
    opens: nothing(),
    clicks: nothing(),
    linkClicks: {},
  }
  for (const { item, verdict } of judgements) {
    if (verdict === 'repeated') {
      counts.dropped.push(item)
      continue
    }
    if (items + counts.kept.length < ITEMS_MAX) counts.kept.push({ item, verdict })
    else counts.dropped.push(item)
    if (item.kind === 'honeypot') continue
    const isMachine = verdict !== 'person'
    counts.counted.push({ kind: item.kind, isMachine })
    add(item.kind === 'open' ? counts.opens : counts.clicks, item.at, isMachine)
    if (item.kind === 'click' && !isMachine && item.link !== null)
      counts.linkClicks[item.link] = (counts.linkClicks[item.link] ?? 0) + 1
  }
  return counts
}

function add(count: Count, at: number, isMachine: boolean): void {
  if (isMachine) {
    count.machineCount += 1
    return
  }
  count.count += 1
  count.firstAt = Math.min(count.firstAt ?? at, at)
  count.lastAt = Math.max(count.lastAt ?? at, at)
}
