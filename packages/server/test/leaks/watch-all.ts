import { watchFolders } from './watch-folders.ts'
import { watchLocks } from './watch-locks.ts'
import { watchListeners, watchProcesses } from './watch-processes.ts'
import { watchSessions } from './watch-sessions.ts'
import { watchTimers } from './watch-timers.ts'

let isWatching = false

/** Notes all that a test opens. The set-up runs for each file of a worker, but functions are to be replaced once. */
export function watchAll(): void {
  if (isWatching) return
  isWatching = true
  watchTimers()
  watchFolders()
  watchListeners()
  watchProcesses()
  watchSessions()
  watchLocks()
}
