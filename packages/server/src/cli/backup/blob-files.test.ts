import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openFolderObjects } from '../../kit/blobs/folder-objects.ts'
import { openFolderStaging, openStoredFile } from './blob-files.ts'

const NAMES = [randomUUID(), randomUUID()].toSorted()
const [FIRST = '', SECOND = ''] = NAMES

/** Opens a blob folder with a file of two tenants, and a restore that brings in another file of each. */
async function openExchange() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-blobs-'))
  for (const name of NAMES) await put(path.join(folder, name), 'old')
  const warnings: string[] = []
  const staging = await openFolderStaging(folder, line => void warnings.push(line))
  for (const name of NAMES) {
    const file = await staging.create(`${name}/file`)
    await file.write(Buffer.from('new'))
    await file.commit()
  }
  const find = async (kind: string) =>
    path.join(folder, (await readdir(folder)).find(name => name.startsWith(kind)) ?? 'none')
  return {
    folder,
    staging,
    warnings,
    replaced: await find('.replaced-'),
    staged: await find('.restore-'),
    read: (name: string) => readFile(path.join(folder, name, 'file'), 'utf8'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

async function put(folder: string, content: string) {
  await mkdir(folder)
  await writeFile(path.join(folder, 'file'), content)
}

test('an exchange of folders that fails midway is undone', async () => {
  await using exchange = await openExchange()
  const { folder, staging, replaced, read, warnings } = exchange
  await put(path.join(replaced, SECOND), 'in the way')
  await expect(staging.swap()).rejects.toThrow('ENOTEMPTY')
  await staging[Symbol.asyncDispose]()

  expect(await readdir(folder)).toEqual(NAMES)
  for (const name of NAMES) expect(await read(name)).toBe('old')
  expect(warnings).toEqual([])
})

test('an exchange that succeeded is undone if it is not kept', async () => {
  await using exchange = await openExchange()
  const { folder, staging, read } = exchange
  await staging.swap()
  for (const name of NAMES) expect(await read(name)).toBe('new')
  await staging[Symbol.asyncDispose]()

  expect(await readdir(folder)).toEqual(NAMES)
  for (const name of NAMES) expect(await read(name)).toBe('old')
})

test('a folder that cannot be moved back is kept, and a warning says where it is', async () => {
  await using exchange = await openExchange()
  const { folder, staging, replaced, read, warnings } = exchange
  await put(path.join(replaced, SECOND), 'in the way')
  await expect(staging.swap()).rejects.toThrow('ENOTEMPTY')
  await put(path.join(folder, FIRST), 'made since')
  await staging[Symbol.asyncDispose]()

  const kept = path.join(replaced, FIRST)
  expect(await readFile(path.join(kept, 'file'), 'utf8')).toBe('old')
  expect(await read(SECOND)).toBe('old')
  expect(warnings).toEqual([expect.stringContaining(`${kept} could not be moved back`)])
})

test('a missing stored file is null', async () => {
  await using exchange = await openExchange()
  expect(await openStoredFile(openFolderObjects(exchange.folder), `${FIRST}/gone`)).toBeNull()
})
