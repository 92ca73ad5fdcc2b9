import path from 'node:path'
import type { SourceFile } from '../../../../scripts/import-graph.ts'

/** The test files of this package by their project, from its folder. */
export interface TestFiles {
  /** Tests of values: they reach no database, server, process or environment, and replace nothing. */
  pure: string[]
  /** Tests that change or measure their process. */
  alone: string[]
  others: string[]
  /** Files with the tag `postgres-16`, and files in which tests have it. They are in one of the others, too. */
  tagged: string[]
  /** The same with the tag `postgres-16-in-soak`. */
  taggedInSoak: string[]
}

const HERE = 'packages/server'
const PACKAGES =
  '@orpc/contract cldr-core/supplemental/windowsZones.json es-module-lexer fast-check fast-xml-parser handlebars iconv-lite jose kysely libpg-query marked parse5 temporal-polyfill vitest yaml zod'
const BUILT_IN =
  'assert async_hooks buffer crypto events fs fs/promises os path perf_hooks punycode stream stream/promises string_decoder timers/promises url util v8 vm zlib'
/** Modules that open nothing by themselves, and keep nothing that another test file would meet. */
const HARMLESS = new Set([...PACKAGES.split(' '), ...BUILT_IN.split(' ').map(name => `node:${name}`)])
/** Code of a test that changes what all files of a worker share, or leaves something. */
const CHANGES_ALL =
  /\bvi\.(?!fn\b|waitFor\b|waitUntil\b)\w+|\binject\(|\bprocess\.(?!env\['WAXWING_TEST)\w+|\bglobalThis\b|\bmkdtemp|\bimport\(|\bsetInterval\(/
/** Code of a test that changes what other files of a worker would meet, or measures the process. */
const NEEDS_PROCESS =
  /\bvi\.(?:use|set|mock|doMock|stub|reset)\w+|\bprocess\.(?:memoryUsage|cpuUsage|chdir|umask|env\[[^\]]+\] = )|\bdelete process\.env\b|\bglobalThis\b(?!\.is)|'node:v8'|\bPerformanceObserver\b/
/** The guard of a run. Its variable is for the processes that tests start, and is set once, before all files. */
const GUARD = `${HERE}/test/guard/guard.ts`
const TAG = /@module-tag postgres-16 |tags: \[?'postgres-16'/
const TAG_IN_SOAK = /@module-tag postgres-16-in-soak |tags: \[?'postgres-16-in-soak'/

/** Finds the project of each test file by what it imports, directly or not, and by its text. */
export function findTestFiles(sources: ReadonlyMap<string, SourceFile>): TestFiles {
  const files = [...sources.keys()]
    .filter(file => file.startsWith(`${HERE}/`) && file.endsWith('.test.ts'))
    .toSorted()
  const grouped = Object.groupBy(files, file => {
    const reached = [...findReached(file, sources)]
    if (reached.every(each => isHarmless(each, sources))) return 'pure'
    return reached.some(each => needsProcess(each, sources)) ? 'alone' : 'others'
  })
  const here = (found: readonly string[] = []) => found.map(file => path.relative(HERE, file))
  return {
    pure: here(grouped.pure),
    alone: here(grouped.alone),
    others: here(grouped.others),
    tagged: here(files.filter(file => TAG.test(sources.get(file)!.text))),
    taggedInSoak: here(files.filter(file => TAG_IN_SOAK.test(sources.get(file)!.text))),
  }
}

/** The file itself, and all that it imports. */
function findReached(file: string, sources: ReadonlyMap<string, SourceFile>): Set<string> {
  const reached = new Set([file])
  // Iteration also visits what is added meanwhile.
  for (const each of reached) for (const name of sources.get(each)?.imports ?? []) reached.add(name)
  return reached
}

function isHarmless(name: string, sources: ReadonlyMap<string, SourceFile>): boolean {
  const source = sources.get(name)
  if (!source) return HARMLESS.has(name)
  return !isOfTests(name) || !CHANGES_ALL.test(source.text)
}

function needsProcess(name: string, sources: ReadonlyMap<string, SourceFile>): boolean {
  return isOfTests(name) && name !== GUARD && NEEDS_PROCESS.test(sources.get(name)?.text ?? '')
}

function isOfTests(name: string): boolean {
  return name.includes('/test/') || name.endsWith('.test.ts')
}
