const MINUTES_PER_HOUR = 60
const MINUTES_PER_DAY = 24 * MINUTES_PER_HOUR

/** Times at a fixed interval, counted in UTC from midnight plus the offset. */
export interface Schedule {
  everyMinutes: number
  offsetMinutes: number
}

/** At every minute that the number divides, such as 0, 10, 20 … of each hour for 10. */
export function everyMinutes(minutes: number): Schedule {
  return { everyMinutes: minutes, offsetMinutes: 0 }
}

/** Once an hour, that many minutes past it. */
export function hourlyAt(minute: number): Schedule {
  return { everyMinutes: MINUTES_PER_HOUR, offsetMinutes: minute }
}

/** Once a day, at a time in UTC. */
export function dailyAt(hour: number, minute: number): Schedule {
  return { everyMinutes: MINUTES_PER_DAY, offsetMinutes: hour * MINUTES_PER_HOUR + minute }
}
