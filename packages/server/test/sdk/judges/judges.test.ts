import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OperationName } from '../../../../sdk/coverage.ts'
import { bringForeign } from '../../servers/foreign.ts'
import { requireDateutil } from '../../servers/install.ts'
import { SOAK } from '../../soak.ts'
import { WALKS } from '../walks/walks.ts'
import { openSdkWorld } from '../walks/world.ts'

const run = promisify(execFile)
const ROOT = path.resolve(import.meta.dirname, '../../../../..')
const DOCUMENT = path.join(ROOT, 'packages/contract/openapi.json')
const TSC = path.join(ROOT, 'node_modules/typescript/bin/tsc')
const PATIENCE = { maxBuffer: 1 << 26 }
/** Settings of a program that uses what was generated. */
const TSCONFIG = {
  compilerOptions: {
    strict: true,
    noEmit: true,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: [],
  },
  include: ['client'],
}

/** The document, as far as these tests read it. */
interface Document {
  paths: Record<string, Record<string, { operationId: OperationName; responses: Record<string, Answer> }>>
  components: { schemas: object }
}
interface Answer {
  content?: Record<string, { schema: { $ref?: string } }>
}

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'waxwing-judges-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const inFolder = (name: string, text: string) => writeFile(path.join(folder, name), text)

test('openapi-ts generates a client from the document, which compiles', SOAK, async () => {
  const { openapiTs } = await bringForeign()
  await run(process.execPath, [openapiTs, '-i', DOCUMENT, '-o', path.join(folder, 'client')], {
    cwd: folder,
    ...PATIENCE,
  })
  await inFolder('tsconfig.json', JSON.stringify(TSCONFIG))
  const { stdout } = await run(process.execPath, [TSC, '-p', folder], PATIENCE)
  expect(stdout).toBe('')
  expect(await readFile(path.join(folder, 'client/sdk.gen.ts'), 'utf8')).toContain('mailMerges')
})

test('models that quicktype generates in Python read every answer of the service', SOAK, async () => {
  const { quicktype } = await bringForeign()
  const document: Document = JSON.parse(await readFile(DOCUMENT, 'utf8'))
  await using world = await openSdkWorld()
  for (const walk of Object.values(WALKS)) await walk(world)
  const answers = schemasOf(document).flatMap(([operation, schema]) =>
    (world.answers.get(operation) ?? []).map(body => ({ operation, schema, body })),
  )
  // Answers without a body have no schema.
  expect(new Set(answers.map(({ operation }) => operation)).size).toBeGreaterThan(80)
  const schemas = JSON.stringify(document.components.schemas)
  const definitions = schemas.replaceAll('#/components/schemas/', '#/definitions/')
  await inFolder('schema.json', `{ "definitions": ${definitions} }`)
  await inFolder('answers.json', JSON.stringify(answers))
  const args = ['-s', 'schema', 'schema.json#/definitions/', '-l', 'python', '-o', 'models.py']
  await run(process.execPath, [quicktype, ...args], { cwd: folder, ...PATIENCE })
  const reader = path.join(import.meta.dirname, 'read_models.py')
  const { stdout } = await run(requireDateutil(), [reader, 'models.py', 'answers.json'], {
    cwd: folder,
    ...PATIENCE,
  })
  expect(JSON.parse(stdout)).toEqual({ read: answers.length, failed: [] })
})

/** Each operation with the name of its answer. */
function schemasOf({ paths }: Document): [OperationName, string][] {
  return Object.values(paths)
    .flatMap(methods => Object.values(methods))
    .flatMap(({ operationId, responses }): [OperationName, string][] => {
      const good = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
      const ref = good?.content?.['application/json']?.schema.$ref
      return ref === undefined ? [] : [[operationId, ref.slice(ref.lastIndexOf('/') + 1)]]
    })
}
