import { isImageProxy, type MachineSign } from './machines.ts'

/** A request for something of a message: its pixel, a link, or the link that only machines follow. */
export interface TrackingItem {
  id: string
  kind: 'open' | 'click' | 'honeypot'
  /** The index of the link. */
  link: number | null
  /** A text that is the same for requests of one client. */
  client: string
  sign: MachineSign | null
  /** Null unless addresses are kept. */
  ip: string | null
  userAgent: string | null
  /** In milliseconds since 1970. */
  at: number
  /** Whether it was judged before. */
  isJudged: boolean
}

export type MachineReason = 'prefetch' | 'scanner' | 'honeypot' | 'burst'

export interface Judgement {
  item: TrackingItem
  /** `repeated`: the same client did the same a moment ago; it does not count. */
  verdict: 'person' | 'repeated' | MachineReason
}

/** Seconds after which an item is judged, together with the items that came this long before and after it. */
export const JUDGE_AFTER_SECONDS = 10
/** Seconds in which the same open or click of the same client counts once. */
export const REPEAT_SECONDS = 30
/** A person does not open a message so soon after it was handed over, through a proxy that fetches images. */
const DELIVERY_SECONDS = 5
/** Different links within the time of a judgement that are a burst, if they are all links of the message or this many. */
const BURST_LINKS = 5
const BURST_LINKS_MIN = 3
/** Two links are all links of some messages. */
const PAIR_SECONDS = 2

/**
 * Separates people from machines. Items that belong together are judged alike: a scanner that follows the honeypot, or
 * all links at once, marks everything that came at the same time.
 * @param items all items that came around the time of the items to be judged, oldest first
 * @param links the number of links of the message
 */
export function judgeItems(
  items: readonly TrackingItem[],
  message: { links: number; handedOverAt: number | null },
  now: number,
): Judgement[] {
  const counted = new Map<string, number>()
  const judgements: Judgement[] = []
  const nearOf = lookNear(items)
  for (const item of items) {
    const key = [item.kind, item.link, item.client].join()
    const isRepeated = item.at - (counted.get(key) ?? -Infinity) < REPEAT_SECONDS * 1000
    if (!isRepeated) counted.set(key, item.at)
    if (item.isJudged || now - item.at < JUDGE_AFTER_SECONDS * 1000) continue
    judgements.push({ item, verdict: isRepeated ? 'repeated' : judge(item, nearOf(item.at), message) })
  }
  return judgements
}

/** Items that came within the time of a judgement. */
interface Near {
  hasHoneypot: boolean
  /** Number of different links that were clicked. */
  clicked: number
  /** Whether two of them were clicked at almost the same time. */
  hasPair: boolean
}

function judge(
  item: TrackingItem,
  near: Near,
  { links, handedOverAt }: { links: number; handedOverAt: number | null },
): Judgement['verdict'] {
  if (near.hasHoneypot) return 'honeypot'
  if (item.sign !== null) return item.sign
  if (isBurst(near, links)) return 'burst'
  const isEarly = handedOverAt !== null && item.at - handedOverAt < DELIVERY_SECONDS * 1000
  return item.kind === 'open' && isEarly && isImageProxy(item.userAgent) ? 'prefetch' : 'person'
}

function isBurst({ clicked, hasPair }: Near, links: number): boolean {
  if (clicked >= BURST_LINKS_MIN) return clicked >= Math.min(links, BURST_LINKS)
  return links === 2 && clicked === 2 && hasPair
}

/** Calls with ascending times pass over the items once in all. */
function lookNear(items: readonly TrackingItem[]): (at: number) => Near {
  const { begins, ends } = findPairs(items)
  const clicksOfLink = new Map<number | null, number>()
  let honeypots = 0
  let pairs = 0
  let first = 0
  let next = 0
  const count = ({ kind, link }: TrackingItem, change: 1 | -1) => {
    if (kind === 'honeypot') honeypots += change
    if (kind !== 'click') return
    const clicks = (clicksOfLink.get(link) ?? 0) + change
    if (clicks > 0) clicksOfLink.set(link, clicks)
    else clicksOfLink.delete(link)
  }
  return at => {
    for (let item = items[next]; item && item.at - at <= JUDGE_AFTER_SECONDS * 1000; item = items[++next]) {
      count(item, 1)
      if (ends.has(item)) pairs += 1
    }
    for (let item = items[first]; item && at - item.at > JUDGE_AFTER_SECONDS * 1000; item = items[++first]) {
      count(item, -1)
      if (begins.has(item)) pairs -= 1
    }
    return { hasHoneypot: honeypots > 0, clicked: clicksOfLink.size, hasPair: pairs > 0 }
  }
}

/**
 * Clicks that follow each other at once, on different links. If any two of them are so close, two in succession are.
 */
function findPairs(items: readonly TrackingItem[]) {
  const begins = new Set<TrackingItem>()
  const ends = new Set<TrackingItem>()
  let last: TrackingItem | null = null
  for (const item of items) {
    if (item.kind !== 'click') continue
    if (last && last.link !== item.link && item.at - last.at <= PAIR_SECONDS * 1000) {
      begins.add(last)
      ends.add(item)
    }
    last = item
  }
  return { begins, ends }
}
