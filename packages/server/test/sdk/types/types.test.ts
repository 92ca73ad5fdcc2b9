import { execFile } from 'node:child_process'
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bringForeign } from '../../servers/foreign.ts'
import { SOAK } from '../../soak.ts'
import { installPackedClient, type PackedClient } from '../runtimes/packed.ts'

const run = promisify(execFile)
const TSC = path.resolve(import.meta.dirname, '../../../../../node_modules/typescript/bin/tsc')

/** The strictest settings, without the types of Node.js. */
const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
  types: [],
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
}
const SETTINGS = {
  'of Node.js': { ...STRICT, module: 'nodenext', moduleResolution: 'nodenext' },
  'of bundlers': { ...STRICT, module: 'esnext', moduleResolution: 'bundler' },
}

let packed: PackedClient
beforeAll(async () => {
  packed = await installPackedClient()
  await copyFile(path.join(import.meta.dirname, 'user.ts.txt'), path.join(packed.folder, 'user.ts'))
})
afterAll(() => packed[Symbol.asyncDispose]())

/** Compiles the program of a user. @returns what the compiler says */
async function compile(tsc: string, compilerOptions: object): Promise<string> {
  const tsconfig = { compilerOptions, files: ['user.ts'] }
  await writeFile(path.join(packed.folder, 'tsconfig.json'), JSON.stringify(tsconfig))
  return run(process.execPath, [tsc, '-p', packed.folder]).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  )
}

describe.each(Object.entries(SETTINGS))(
  'the types of the packed client pass with settings %s',
  (_, options) => {
    test('in the TypeScript of this clone', async () => {
      expect(await compile(TSC, options)).toBe('')
    })

    test.each(['tsc54', 'tsc59'] as const)('in an older one: %s', SOAK, async name => {
      const programs = await bringForeign()
      expect(await compile(programs[name], options)).toBe('')
    })
  },
)

test('declarations name no type that an older TypeScript lacks, and nothing of Node.js', async () => {
  const dist = path.join(packed.folder, 'node_modules/@waxwing/sdk/dist')
  const files = (await readdir(dist)).filter(name => name.endsWith('.d.ts'))
  expect(files.length).toBeGreaterThan(10)
  for (const file of files) {
    const text = await readFile(path.join(dist, file), 'utf8')
    const found = /Uint8Array<|\bBuffer\b|from ["']node:|reference types/.exec(text)
    expect({ file, found: found?.[0] }).toEqual({ file, found: undefined })
  }
})
