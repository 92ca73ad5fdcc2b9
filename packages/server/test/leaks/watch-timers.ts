import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import { note } from './ledger.ts'

/** Notes each timer that keeps a process running, and each that repeats. */
export function watchTimers(): void {
  const { setTimeout, setInterval } = timers
  const watched = {
    setTimeout: Object.assign((...args: Parameters<typeof setTimeout>) => {
      const timer = setTimeout(...args)
      const [, delay = 0] = args
      note(
        'timer',
        () => `of ${delay} ms`,
        () => isActive(timer) && timer.hasRef(),
      )
      return timer
    }, setTimeout),
    setInterval: Object.assign((...args: Parameters<typeof setInterval>) => {
      const timer = setInterval(...args)
      const [, delay = 0] = args
      note(
        'timer',
        () => `every ${delay} ms`,
        () => isActive(timer),
      )
      return timer
    }, setInterval),
  }
  Object.assign(timers, watched)
  Object.assign(globalThis, watched)
  const sleep = timersPromises.setTimeout
  timersPromises.setTimeout = ((delay, value, options) => {
    let isPending = options?.ref !== false
    if (isPending)
      note(
        'timer',
        () => `of ${delay ?? 0} ms`,
        () => isPending,
      )
    return sleep(delay, value, options).finally(() => (isPending = false))
  }) as typeof sleep
  syncBuiltinESMExports()
}

/** Whether a timer will be called. Its only sign is a field that the types leave out. */
function isActive(timer: NodeJS.Timeout): boolean {
  return !(timer as unknown as { _destroyed: boolean })._destroyed
}
