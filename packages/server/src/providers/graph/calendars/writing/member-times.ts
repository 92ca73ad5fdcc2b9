import { shiftWall } from '../../../../kit/recurrence/shift-rule.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall } from '../../../../kit/wall-clock.ts'
import { toInstant, toWall } from '../../../../kit/zones/zones.ts'
import type { EventTime } from '../../../calendars.ts'
import { type EventTimes, timesOfMember } from '../../../new-times.ts'

/**
 * The times of an exception after its series got other ones; null if they are those that the series gives its member.
 * @param own the times of the exception, in any zone
 * @param before the times of the series, and the member that the exception is of it
 * @param after the same, as they will be
 */
export function movedException(
  own: EventTimes,
  before: { times: EventTimes; member: string },
  after: { times: EventTimes; member: string },
): EventTimes | null {
  const { start, end } = before.times
  const given = { start: inZone(own.start, start.zone), end: inZone(own.end, end.zone) }
  const usual = timesOfMember(before.times, before.member)
  if (given.start.wall === usual.start.wall && given.end.wall === usual.end.wall) return null
  const dayOf = (wall: string) => Math.floor(requireWall(wall) / DAY_MS)
  if (isDay(given.start.wall) !== isDay(before.member)) {
    const days = dayOf(after.member) - dayOf(before.member)
    return { start: daysLater(given.start, days), end: daysLater(given.end, days) }
  }
  const shift = {
    from: { wall: before.member, zone: start.zone },
    to: { wall: after.member, zone: after.times.start.zone },
  }
  const move = (wall: string, zone: string | null): EventTime => {
    const moved = shiftWall(wall, shift)
    return { wall: moved, zone: isDay(moved) ? null : zone }
  }
  const [first, last] = [
    move(given.start.wall, after.times.start.zone),
    move(given.end.wall, after.times.end.zone),
  ]
  // A part of a day becomes a whole one.
  const isPart = isDay(last.wall) && requireWall(given.end.wall) % DAY_MS > 0
  return { start: first, end: isPart ? daysLater(last, 1) : last }
}

/** A time in another zone. Days lie in none. */
function inZone({ wall, zone }: EventTime, other: string | null): EventTime {
  if (zone === null || other === null || zone === other) return { wall, zone }
  return { wall: toWall(toInstant(wall, zone), other), zone: other }
}

const daysLater = ({ wall, zone }: EventTime, days: number): EventTime => ({
  wall: (isDay(wall) ? printDay : printWall)(requireWall(wall) + days * DAY_MS),
  zone,
})
