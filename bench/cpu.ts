import { readdirSync, readFileSync } from 'node:fs'
import { median, short } from './figures.ts'
import { readProcess, TICKS_PER_SECOND } from './process-stats.ts'

/** Processor time beside a result. */
export interface Cpu {
  service: number
  database: number
  mailServer: number
  /** Unit of the three figures above: microseconds for each operation or, while the service is idle, a share of the time. */
  unit: 'µs each' | '% of a core'
  /** Use by processes that the benchmark did not start, in % of a core. */
  others: number
}

/** Seconds of processor time. */
export interface CpuSeconds {
  service: number
  database: number
  mailServer: number
  /** This process: the clients, and the yardsticks that it started. */
  bench: number
  others: number
}

type Role = Exclude<keyof CpuSeconds, 'others'>

/** Programs that benchmarks start, by their command lines. Their child processes count as theirs, unless they are listed, too. */
const PROGRAMS: ReadonlyArray<readonly [role: Role, commandLine: RegExp]> = [
  ['database', /^\S*postgres\b/],
  ['service', /waxwing\.js\0serve\0/],
  ['mailServer', /dovecot|radicale|idle-server-process|sandbox-process/],
]
const MICROSECONDS = 1_000_000

/** Processor time since the machine started, of the machine and of this process with all that it started. */
export function readCpu(): CpuSeconds {
  const seconds = { service: 0, database: 0, mailServer: 0, bench: 0 }
  const children = Map.groupBy(readProcesses(), ({ parent }) => parent)
  const add = (pid: number, role: Role, used: number) => {
    seconds[role] += used
    for (const child of children.get(pid) ?? []) add(child.pid, roleOf(child.pid) ?? role, child.seconds)
  }
  const { ownSeconds, endedSeconds } = readProcess(process.pid)
  add(process.pid, 'bench', ownSeconds + endedSeconds)
  const ours = Object.values(seconds).reduce((sum, each) => sum + each)
  return { ...seconds, others: readBusySeconds() - ours }
}

/** Begins to count. The function that it returns says what was used since, for each of `count` things, if any. */
export function meterCpu(): (count: number | null) => Cpu {
  const before = readCpu()
  const startedAt = performance.now()
  return count => {
    const after = readCpu()
    const seconds = (performance.now() - startedAt) / 1000
    const share = (who: keyof CpuSeconds) => ((after[who] - before[who]) * 100) / seconds
    const each = (who: keyof CpuSeconds) =>
      count === null ? share(who) : ((after[who] - before[who]) * MICROSECONDS) / count
    return {
      service: each('service'),
      database: each('database'),
      mailServer: each('mailServer'),
      unit: count === null ? '% of a core' : 'µs each',
      others: Math.max(0, share('others')),
    }
  }
}

export function medianCpu(runs: readonly Cpu[]): Cpu {
  const of = (who: keyof Omit<Cpu, 'unit'>) => median(runs.map(run => run[who]))
  return {
    service: of('service'),
    database: of('database'),
    mailServer: of('mailServer'),
    unit: runs[0]?.unit ?? 'µs each',
    others: of('others'),
  }
}

export function formatCpu({ service, database, mailServer, unit, others }: Cpu): string {
  const parts = [service, database, mailServer].map(part => short(Math.max(0, part)))
  return `${parts.join(' + ')} ${unit === 'µs each' ? 'µs' : '%'}; ${others.toFixed(0)} %`
}

function readProcesses(): { pid: number; parent: number; seconds: number }[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      const pid = Number(name)
      try {
        const { parent, ownSeconds, endedSeconds } = readProcess(pid)
        return [{ pid, parent, seconds: ownSeconds + endedSeconds }]
      } catch {
        return [] // It has ended.
      }
    })
}

function roleOf(pid: number): Role | null {
  try {
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'latin1')
    return PROGRAMS.find(([, pattern]) => pattern.test(commandLine))?.[0] ?? null
  } catch {
    return null // It has ended.
  }
}

/** Time in which any processor of the machine was busy, or was lent to another machine (proc(5), /proc/stat). */
function readBusySeconds(): number {
  const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n')
  const [user, nice, system, , , irq, softirq, steal] = line.split(/ +/).slice(1).map(Number)
  return (user! + nice! + system! + irq! + softirq! + steal!) / TICKS_PER_SECOND
}
