import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Resident memory of a process in MB: its current value and its peak (proc(5), Linux). */
export function readMemory(pid: number): { nowMb: number; peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  return { nowMb: read('VmRSS'), peakMb: read('VmHWM') }
}

/** Seconds of processor time that a process has used, its threads included. */
export function readCpuSeconds(pid: number): number {
  // utime and stime are the fields 14 and 15; the split took two.
  const [utime, stime] = readFields(pid).slice(11)
  return (Number(utime) + Number(stime)) / TICKS_PER_SECOND
}

/** The same of a PostgreSQL server: of its main process and all that it started, those that have ended included. */
export function readServerCpuSeconds(pid: number): number {
  const children = readdirSync('/proc').filter(name => /^\d+$/.test(name) && parentOf(Number(name)) === pid)
  const [cutime, cstime] = readFields(pid).slice(13)
  const ended = (Number(cutime) + Number(cstime)) / TICKS_PER_SECOND
  return [pid, ...children.map(Number)].reduce((sum, each) => sum + readCpuSeconds(each), ended)
}

function readFields(pid: number): string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
}

/** Null if the process has ended. */
function parentOf(pid: number): number | null {
  try {
    return Number(readFields(pid)[1])
  } catch {
    return null
  }
}
