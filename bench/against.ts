/** `npm run bench -- --against COMMIT`: the service of an older commit and this one, in turn. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { cp, chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { compileCache } from '../packages/server/test/compile-cache.ts'
import { type Cpu, formatCpu, medianCpu } from './cpu.ts'
import { median, short } from './figures.ts'
import { CPU_HEAD, formatTable, type Row } from './row.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const RUN = fileURLToPath(new URL('run.ts', import.meta.url))
const PROGRAM = 'packages/server/bin/waxwing.js'
const LOCK = 'package-lock.json'
/** A number as the rows have it, such as 1,970 or 0.72. */
const NUMBER = /\d[\d,]*(\.\d+)?/g

const run = promisify(execFile)

/** Runs the benchmarks with each service in turn. Returns a table of the medians of both. */
export async function runAgainst(commit: string, pairs: number, names: readonly string[]): Promise<string> {
  await using older = await checkOut(commit)
  const services = { old: path.join(older.folder, PROGRAM), new: path.join(ROOT, PROGRAM) }
  // As a service that has run before: its code is compiled.
  for (const program of Object.values(services))
    spawnSync(process.execPath, [program, '--version'], { env: compileCache(), stdio: 'ignore' })
  const runs: Record<keyof typeof services, Row[][]> = { old: [], new: [] }
  for (let pair = 1; pair <= pairs; pair++)
    for (const side of ['old', 'new'] as const) {
      console.error(`Pair ${pair} of ${pairs}, ${side}`)
      runs[side].push(await runOnce(services[side], path.join(older.folder, 'rows.json'), names))
    }
  return compare(runs.old, runs.new)
}

/** The files of a commit in a folder of their own, with the packages that they need. Disposing it removes them. */
async function checkOut(commit: string): Promise<AsyncDisposable & { folder: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-bench-'))
  await using opened = new AsyncDisposableStack()
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  // PostgreSQL runs from it as a user of its own.
  await chmod(folder, 0o755)
  const archive = path.join(folder, 'files.tar')
  await run('git', ['archive', '--output', archive, commit], { cwd: ROOT })
  await run('tar', ['-xf', archive, '-C', folder])
  const [mine, its] = await Promise.all([ROOT, folder].map(each => readFile(path.join(each, LOCK))))
  if (mine!.equals(its!)) await linkPackages(folder)
  else await run('npm', ['ci'], { cwd: folder })
  const owned = opened.move()
  return { folder, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Links the installed packages. Packages of the workspace are links already, to the folders beside `node_modules`. */
async function linkPackages(folder: string): Promise<void> {
  const [from, to] = [ROOT, folder].map(each => path.join(each, 'node_modules')) as [string, string]
  await mkdir(to)
  for (const name of await readdir(from))
    if (name === '@waxwing')
      await cp(path.join(from, name), path.join(to, name), { recursive: true, verbatimSymlinks: true })
    else await symlink(path.join(from, name), path.join(to, name))
}

/** Runs the benchmarks of this commit, in a process of its own, with the service that `program` starts. */
async function runOnce(program: string, file: string, names: readonly string[]): Promise<Row[]> {
  const child = spawn(process.execPath, [RUN, ...names, '--json', file], {
    // In a process group of its own, so that a signal to this process ends it with all that it has started.
    detached: true,
    env: { ...process.env, WAXWING_BENCH_PROGRAM: program },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const stop = () => process.kill(-child.pid!, 'SIGINT')
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop)
  const code = await new Promise(resolve => child.once('close', resolve))
  for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, stop)
  if (code !== 0) throw new Error('The benchmarks have failed, or were stopped')
  // Written by run.ts.
  return (JSON.parse(await readFile(file, 'utf8')) as { rows: Row[] }).rows
}

function compare(older: readonly Row[][], newer: readonly Row[][]): string {
  const lines = (newer[0] ?? []).map(({ benchmark, measure }) => {
    const of = (runs: readonly Row[][]) =>
      runs.flatMap(rows => rows.filter(row => row.benchmark === benchmark && row.measure === measure))
    return [benchmark, measure, ...compareRows(of(older), of(newer))]
  })
  const head = ['benchmark', 'measure', 'old', 'new', 'new / old', 'of the yardstick: old; new']
  return formatTable([...head, `old ${CPU_HEAD}`, 'new', 'new / old: service; database'], lines)
}

function compareRows(older: readonly Row[], newer: readonly Row[]): string[] {
  const results = [older, newer].map(rows => medianText(rows.map(row => row.result)))
  const [before, after] = results.map(result => readNumbers(result)[0] ?? Number.NaN)
  const ofYardstick = [older, newer].map(rows => median(rows.flatMap(row => row.ratio ?? [])).toFixed(2))
  const cpus = [older, newer].map(rows => rows.flatMap(row => row.cpu ?? []))
  const [mine, its] = cpus.map(some => (some.length > 0 ? medianCpu(some) : null))
  return [
    ...results,
    short(after! / before!),
    newer[0]?.ratio === null ? '' : ofYardstick.join('; '),
    mine ? formatCpu(mine) : '',
    its ? formatCpu(its) : '',
    mine && its ? compareCpu(mine, its) : '',
  ]
}

function compareCpu(before: Cpu, after: Cpu): string {
  return (['service', 'database'] as const).map(who => short(after[who] / before[who])).join('; ')
}

/** The first of texts that differ only in their numbers, with the median of each number. */
function medianText(texts: readonly string[]): string {
  const numbers = texts.map(readNumbers)
  let nth = -1
  return (texts[0] ?? '').replace(NUMBER, () => {
    nth++
    return short(median(numbers.map(each => each[nth] ?? Number.NaN)))
  })
}

function readNumbers(text: string): number[] {
  return [...text.matchAll(NUMBER)].map(([number]) => Number(number.replaceAll(',', '')))
}
