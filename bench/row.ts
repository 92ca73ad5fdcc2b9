import { type Cpu, formatCpu } from './cpu.ts'

/** A line of the table of results. */
export interface Row {
  benchmark: string
  measure: string
  /** The result, the yardstick, and their ratio if that is the target. */
  result: string
  yardstick: string
  ratio: number | null
  target: string
  /** Processor time of the result, without the yardstick. */
  cpu?: Cpu
}

export type Report = (row: Omit<Row, 'benchmark'>) => void

export interface Benchmark {
  name: string
  about: string
  run(report: Report): Promise<void>
}

/** Heads a column of `formatCpu`. */
export const CPU_HEAD = 'processor: service + database + mail server; others'

export function formatResults(rows: readonly Row[]): string {
  const lines = rows.map(({ benchmark, measure, result, yardstick, ratio, target, cpu }) => [
    benchmark,
    measure,
    result,
    yardstick,
    ratio?.toFixed(2) ?? '',
    target,
    cpu ? formatCpu(cpu) : '',
  ])
  const head = ['benchmark', 'measure', 'Waxwing', 'yardstick', 'ratio', 'target (stretch)', CPU_HEAD]
  return formatTable(head, lines)
}

/** Formats a table in Markdown. */
export function formatTable(head: readonly string[], lines: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...lines].map(line => `| ${line.join(' | ')} |\n`).join('')
}
