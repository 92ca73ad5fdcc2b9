import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { EXPORT_MARKER, exportSite, refusalOf } from '../../../../scripts/docs/export-site.ts'

const ROOT = path.resolve(import.meta.dirname, '../../../..')
const run = promisify(execFile)

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'waxwing-export-'))
  onTestFinished(() => rm(folder, { recursive: true }))
})

describe('a site for other hosts', () => {
  test('is not written over a folder with other files', async () => {
    await writeFile(path.join(folder, 'CNAME'), 'mine')
    const command = run(process.execPath, ['scripts/docs.ts', '--out', folder], { cwd: ROOT })
    await expect(command).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining('not empty') })
    expect(await readdir(folder)).toEqual(['CNAME'])
  })

  test('is not written to the clone, a folder above it, or a folder without a name', async () => {
    const link = path.join(folder, 'link')
    await symlink(ROOT, link)
    for (const refused of ['', ' ']) expect(await refusalOf(refused)).toContain('empty')
    for (const refused of [ROOT, path.join(ROOT, '..'), '/', link])
      expect(await refusalOf(refused)).toContain('holds this clone')
    expect(await refusalOf(path.join(ROOT, 'docs'))).toContain('not empty')
    expect(await refusalOf(path.join(folder, 'new'))).toBeNull()
  })

  test('leaves other files beside it, and removes only its own that are no longer made', async () => {
    await mkdir(path.join(folder, 'docs'))
    const write = (name: string, text: string) => writeFile(path.join(folder, name), text)
    await Promise.all([write('CNAME', 'mine'), write('docs/mine', 'mine'), write('docs/gone.md', 'old')])
    await write(EXPORT_MARKER, 'docs/gone.md\nCNAME\ndocs/../CNAME\n')
    expect(await refusalOf(folder)).toBeNull()
    await exportSite(folder)

    const names = await readdir(folder, { recursive: true })
    expect(names).toEqual(expect.arrayContaining(['CNAME', 'docs/mine', 'docs/index.html', 'llms.txt']))
    expect(names).not.toContain('docs/gone.md')
    expect((await readFile(path.join(folder, EXPORT_MARKER), 'utf8')).split('\n')).toContain(
      'docs/index.html',
    )
  })
})
