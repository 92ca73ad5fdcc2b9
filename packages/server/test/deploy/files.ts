import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseAllDocuments } from 'yaml'

export const REPOSITORY = path.resolve(import.meta.dirname, '../../../..')
export const DEPLOY = path.join(REPOSITORY, 'deploy')

export function readDeployed(name: string): string {
  return readFileSync(path.join(DEPLOY, name), 'utf8')
}

/** The documents of a YAML file. Refuses what is not valid. */
export function readYaml(text: string): unknown[] {
  return parseAllDocuments(text, { merge: true }).map(document => {
    if (document.errors.length > 0) throw document.errors[0]
    return document.toJS() as unknown
  })
}

/** Reads the `NAME=value` lines of a file for containers. */
export function readEnvironment(text: string): Record<string, string> {
  const lines = text.split('\n').filter(line => /^[A-Z]/.test(line))
  return Object.fromEntries(
    lines.map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}
