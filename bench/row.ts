/** A line of the table of results. */
export interface Row {
  benchmark: string
  measure: string
  /** The result, the yardstick, and their ratio if that is the target. */
  result: string
  yardstick: string
  ratio: number | null
  target: string
}

export type Report = (row: Omit<Row, 'benchmark'>) => void

export interface Benchmark {
  name: string
  about: string
  run(report: Report): Promise<void>
}

export function formatTable(rows: readonly Row[]): string {
  const lines = rows.map(({ benchmark, measure, result, yardstick, ratio, target }) =>
    [benchmark, measure, result, yardstick, ratio === null ? '' : ratio.toFixed(2), target].join(' | '),
  )
  const head = ['benchmark', 'measure', 'Waxwing', 'yardstick', 'ratio', 'target (stretch)']
  return [head.join(' | '), head.map(() => '---').join(' | '), ...lines].map(line => `| ${line} |\n`).join('')
}
