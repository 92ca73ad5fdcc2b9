import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openLog, silentLog } from '../../kit/log.ts'
import { openReference } from './files.ts'

/** A folder for a site that does not exist yet, and the reference that reads it. */
async function openAbsent() {
  const above = await mkdtemp(path.join(tmpdir(), 'waxwing-site-'))
  onTestFinished(() => rm(above, { recursive: true }))
  const folder = path.join(above, 'docs')
  const warnings: string[] = []
  const destination = { write: (line: string) => void warnings.push(JSON.parse(line).message) }
  const log = openLog({ level: 'warn', format: 'json', destination })
  const reference = openReference(log, pathToFileURL(`${folder}/`))
  return {
    folder,
    warnings,
    async read(at: string) {
      const found = await reference.find(at)
      return typeof found === 'string' ? found : found.content.toString()
    },
  }
}

/** Replaces the site by one of these files, which is made beside it as by `npm run docs`. */
async function make(folder: string, files: Record<string, string>) {
  const unfinished = `${folder}.new`
  await mkdir(unfinished)
  for (const [name, content] of Object.entries(files)) await writeFile(path.join(unfinished, name), content)
  const listed = Object.keys(files).map(name => [`/docs/${name}`, { file: name, type: 'text/html' }])
  await writeFile(path.join(unfinished, 'site.json'), JSON.stringify(Object.fromEntries(listed)))
  await rm(folder, { recursive: true, force: true })
  await rename(unfinished, folder)
}

test('pages that are made after the start are served', async () => {
  const { folder, warnings, read } = await openAbsent()
  expect(await read('/docs/a')).toBe('no_pages')
  expect(await read('/docs/a')).toBe('no_pages')
  expect(warnings).toEqual([expect.stringContaining('npm run docs')])
  await make(folder, { a: 'made' })
  expect(await read('/docs/a')).toBe('made')
  expect(await read('/docs/b')).toBe('no_file')
  expect(await read('/docs/constructor')).toBe('no_file')
})

test('pages that are made again replace all earlier ones', async () => {
  const { folder, read } = await openAbsent()
  await make(folder, { a: 'old', b: 'old' })
  expect(await read('/docs/a')).toBe('old')
  await make(folder, { a: 'new', c: 'new' })
  expect(await Promise.all(['a', 'b', 'c'].map(name => read(`/docs/${name}`)))).toEqual([
    'new',
    'no_file',
    'new',
  ])
})

test('a page that was read is served while the folder is replaced', async () => {
  const { folder, read } = await openAbsent()
  await make(folder, { a: 'old' })
  expect(await read('/docs/a')).toBe('old')
  await rename(folder, `${folder}.earlier`)
  expect(await read('/docs/a')).toBe('old')
})

test.each([
  ['a list that is no JSON', '{"/docs/a":'],
  ['a list that is no object', 'null'],
  ['an entry without a type', '{"/docs/a":{"file":"a"}}'],
  ['a list of a file that is gone', '{"/docs/a":{"file":"gone","type":"text/html"}}'],
])('%s is reported once, and read again at a later request', async (_, list) => {
  const { folder, warnings, read } = await openAbsent()
  await make(folder, { a: 'made' })
  await writeFile(path.join(folder, 'site.json'), list)
  warnings.length = 0
  expect([await read('/docs/a'), await read('/docs/a')]).toEqual(['no_pages', 'no_pages'])
  expect(warnings).toHaveLength(1)
  await make(folder, { a: 'mended' })
  expect(await read('/docs/a')).toBe('mended')
})

test('a list that cannot be read does not stop the start', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-site-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await mkdir(path.join(folder, 'site.json'))
  const reference = openReference(silentLog, pathToFileURL(`${folder}/`))
  expect(await reference.find('/docs/a')).toBe('no_pages')
})
