import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '..')
const IMPORT = /^(?:import|export)(?! type ) (?:[^'=();]*?from )?'([^']+)'/gm
const CONTRACT = '@waxwing/contract/'

/** A source file of the packages. */
export interface SourceFile {
  text: string
  /** The files that it imports, from the folder of the repository, and the names of other modules. Types do not count. */
  imports: string[]
}

/** Reads every TypeScript file of the packages. The keys are paths from the folder of the repository. */
export function readSources(): Map<string, SourceFile> {
  const files = globSync('packages/*/{src,test}/**/*.ts', { cwd: ROOT })
  return new Map(files.map(file => [file, readSource(file)]))
}

/** The test files that import this module, directly or not. Both are paths from the folder of the repository. */
export function findTestsUsing(module: string, sources: ReadonlyMap<string, SourceFile>): string[] {
  const importers = new Map<string, string[]>()
  for (const [file, { imports }] of sources)
    for (const imported of imports) importers.set(imported, [...(importers.get(imported) ?? []), file])
  const using = new Set([module])
  // A set that grows meanwhile is gone through to its end.
  for (const file of using) for (const importer of importers.get(file) ?? []) using.add(importer)
  return [...using].filter(file => file.endsWith('.test.ts')).toSorted()
}

function readSource(file: string): SourceFile {
  const text = readFileSync(path.join(ROOT, file), 'utf8')
  const imports = [...text.matchAll(IMPORT)].map(([, name = '']) => resolve(name, file))
  return { text, imports }
}

function resolve(name: string, from: string): string {
  if (name.startsWith('.')) return path.join(path.dirname(from), name)
  return name.startsWith(CONTRACT) ? `packages/contract/src/${name.slice(CONTRACT.length)}` : name
}
