import { DAY_MS } from '../kit/wall-clock.ts'
import type { CalendarsProvider } from './calendars.ts'

type FindBusy = NonNullable<CalendarsProvider['findBusy']>
type BusyByAddress = Awaited<ReturnType<FindBusy>>
type Range = Parameters<FindBusy>[1]

/** Bounds of one call. */
export interface PartBounds {
  addressesMax: number
  daysMax: number
}

/**
 * Finds busy times in as many calls as a provider needs, all at the same time. An address is resolved if each call about
 * it was answered. Rejects if all calls fail.
 */
export async function findBusyInParts(
  { addressesMax, daysMax }: PartBounds,
  addresses: readonly string[],
  range: Range,
  ask: (addresses: readonly string[], range: Range) => Promise<BusyByAddress>,
): Promise<BusyByAddress> {
  const groups = Array.from({ length: Math.ceil(addresses.length / addressesMax) }, (_, index) =>
    addresses.slice(index * addressesMax, (index + 1) * addressesMax),
  )
  const ranges = rangesOf(range, daysMax * DAY_MS)
  const found = new Map<string, Array<{ start: Date; end: Date }>>()
  const calls = groups.map(async group => {
    const answers = await Promise.all(ranges.map(part => ask(group, part)))
    for (const address of group) {
      const parts = answers.flatMap(answer => answer.get(address) ?? [])
      if (answers.every(answer => answer.has(address))) found.set(address, parts)
    }
  })
  const ended = await Promise.allSettled(calls)
  const failed = ended.filter(each => each.status === 'rejected')
  if (failed.length > 0 && failed.length === ended.length) throw failed[0]!.reason
  return found
}

function rangesOf({ start, end }: Range, lengthMax: number): Range[] {
  const ranges: Range[] = []
  for (let at = start.getTime(); at < end.getTime(); at += lengthMax)
    ranges.push({ start: new Date(at), end: new Date(Math.min(at + lengthMax, end.getTime())) })
  return ranges
}
