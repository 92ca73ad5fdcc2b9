import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** Resident memory of a process in MB: its current value and its peak (proc(5), Linux). */
export function readMemory(pid: number): { nowMb: number; peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
  return { nowMb: read('VmRSS'), peakMb: read('VmHWM') }
}

/** Seconds of processor time that a process has used, its threads included. */
export function readCpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  // utime and stime are the fields 14 and 15; the split took two.
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}
