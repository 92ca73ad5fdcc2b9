import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Resident memory of a process in MB: its current value and its peak (proc(5), Linux). */
export function readMemory(pid: number): { nowMb: number; peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  return { nowMb: read('VmRSS'), peakMb: read('VmHWM') }
}

/** Seconds of processor time that a process has used, its threads included. */
export function readCpuSeconds(pid: number): number {
  return readProcess(pid).ownSeconds
}

/** A process, with the processor time of it and its threads, and that of its children that have ended. */
export function readProcess(pid: number): { parent: number; ownSeconds: number; endedSeconds: number } {
  // The name of the program may hold spaces. It is the second field, and `state` is the third (proc(5)).
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(ticks => Number(ticks) / TICKS_PER_SECOND)
  return { parent: Number(fields[1]), ownSeconds: utime! + stime!, endedSeconds: cutime! + cstime! }
}
