import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The place of the start time among the fields that follow the name of the program in `/proc/PID/stat`. */
const START_TIME = 19

/**
 * When a process was started, as its system writes it: with the number it identifies the process, since numbers are
 * given again. Null if there is none, or if the system does not report it.
 */
export function readStartTime(pid: number): string | null {
  try {
    // A small Debian has no ps.
    if (process.platform !== 'linux')
      return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || null
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of a program may have parentheses and blanks.
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
    return fields[START_TIME] ?? null
  } catch {
    return null
  }
}
