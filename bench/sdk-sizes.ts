import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { OPERATIONS } from '../packages/sdk/src/operations.ts'
import type { Benchmark } from './row.ts'

const SOURCE = path.resolve(import.meta.dirname, '../packages/sdk/src')
const TABLE = path.join(SOURCE, 'operations.ts')

export const sdkSizes: Benchmark = {
  name: 'sdk-sizes',
  about: 'The client, minified by rolldown and compressed.',
  async run(report) {
    const whole = await bundledBytes('index.ts')
    const withoutTable = await bundledBytes('index.ts', 'export const OPERATIONS = {}')
    const operations = Object.values(OPERATIONS).flatMap(lines =>
      typeof lines === 'string' ? [lines] : Object.values(lines),
    )
    const size = (measure: string, bytes: number, unit: string, target: string) =>
      report({
        measure,
        result: `${bytes.toLocaleString('en-US')} ${unit}`,
        yardstick: '',
        ratio: null,
        target,
      })
    size(`${operations.length} operations`, whole, 'bytes', '≤ 12,000 (8,000)')
    const growth = Math.round((whole - withoutTable) / operations.length)
    size('growth by an operation', growth, 'bytes', '≤ 25')
    size('/webhooks', await bundledBytes('webhooks.ts'), 'bytes', '≤ 2,000')
  },
}

/** @param table in place of the table of operations */
async function bundledBytes(entry: string, table?: string): Promise<number> {
  await using build = await rolldown({
    input: path.join(SOURCE, entry),
    logLevel: 'silent',
    plugins: [{ name: 'table', load: id => (id === TABLE && table !== undefined ? table : null) }],
  })
  const { output } = await build.generate({ format: 'esm', minify: true })
  return gzipSync(output[0].code, { level: 9 }).length
}
