import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const run = promisify(execFile)
const PACKAGE = path.resolve(import.meta.dirname, '..')
const REPOSITORY = path.resolve(PACKAGE, '../..')

/** Removes globals of Node 24 that Node 22, on which the package runs too, lacks. */
const WITHOUT_NEWER_GLOBALS =
  'data:text/javascript,delete globalThis.AsyncDisposableStack; delete globalThis.DisposableStack; delete RegExp.escape; delete Error.isError'

const DOCS = await readFile(path.resolve(PACKAGE, '../../docs/sandbox.md'), 'utf8')
const [, EXAMPLE = ''] = /```js\n(import \{ openSandbox.*?)```/s.exec(DOCS) ?? []

/** The package as it is published, in a project outside the repository, with the dependencies that it names and no others. */
async function unpack() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-sandbox-'))
  const pack = [
    'run',
    '--silent',
    'pack',
    '--',
    '-w',
    '@waxwing/sandbox',
    '--json',
    '--pack-destination',
    folder,
  ]
  const { stdout } = await run('npm', pack, { cwd: REPOSITORY })
  const file = /[\w.-]+\.tgz/.exec(stdout)?.[0] ?? ''
  const modules = path.join(folder, 'node_modules')
  const installed = path.join(modules, '@waxwing/sandbox')
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', path.join(folder, file), '-C', installed, '--strip-components=1'])
  const manifest = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8')) as {
    bin: Record<string, string>
    dependencies: Record<string, string>
  }
  const link = async (name: string, target: string) => {
    await mkdir(path.dirname(path.join(modules, name)), { recursive: true })
    await symlink(target, path.join(modules, name))
  }
  for (const name of Object.keys(manifest.dependencies))
    await link(name, path.join(REPOSITORY, 'node_modules', name))
  for (const [name, target] of Object.entries(manifest.bin))
    await link(`.bin/${name}`, path.join(installed, target))
  return {
    /** A project that has the package installed. */
    project: folder,
    path: installed,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

test('the package has JavaScript only, which runs without what is new in Node 24', async () => {
  await using unpacked = await unpack()
  const { stdout: sources } = await run('find', [unpacked.path, '-name', '*.ts', '-not', '-name', '*.d.ts'])
  expect(sources).toBe('')

  const program = path.join(unpacked.project, 'node_modules/.bin/waxwing-sandbox')
  const sandbox = spawn(process.execPath, ['--import', WITHOUT_NEWER_GLOBALS, program, '--port', '0'])
  const ended = once(sandbox, 'exit')
  let output = ''
  sandbox.stdout.setEncoding('utf8').on('data', (text: string) => void (output += text))
  await expect.poll(() => output).toContain('curl --data-binary')
  const [, controlUrl = ''] = /Control API: (\S+)/.exec(output) ?? []
  const hosts = (await (await fetch(`${controlUrl}/hosts`)).json()) as Record<string, string>
  const discovery = await fetch(`${hosts['accounts.google.com']}/.well-known/openid-configuration`)
  expect(await discovery.json()).toMatchObject({ issuer: 'https://accounts.google.com' })
  sandbox.kill('SIGTERM')
  expect(await ended).toEqual([0, null])

  const { stdout: help } = await run('npx', ['--no-install', 'waxwing-sandbox', '--help'], {
    cwd: unpacked.project,
  })
  expect(help).toContain('--seed FILE')

  // The example of docs/sandbox.md.
  const script = path.join(unpacked.project, 'example.mjs')
  await writeFile(script, EXAMPLE)
  const { stdout: printed } = await run(process.execPath, ['--import', WITHOUT_NEWER_GLOBALS, script])
  expect(printed).toMatch(/^http:\/\/127\.0\.0\.1:\d+ http:\/\/127\.0\.0\.1:\d+\n$/)
})

test('the command ends with the npx that started it', async () => {
  const npx = spawn('npx', ['@waxwing/sandbox', '--port', '0'], { cwd: PACKAGE })
  let output = ''
  npx.stdout.setEncoding('utf8').on('data', (text: string) => void (output += text))
  await expect.poll(() => output).toContain('curl --data-binary')
  const [, controlUrl = ''] = /Control API: (\S+)/.exec(output) ?? []
  const isListening = () =>
    fetch(`${controlUrl}/hosts`).then(
      () => true,
      () => false,
    )
  expect(await isListening()).toBe(true)
  npx.kill('SIGTERM')
  await expect.poll(isListening).toBe(false)
})

test('the command says what it does not understand', async () => {
  const program = path.join(PACKAGE, 'bin/waxwing-sandbox.js')
  const ask = (...args: string[]) =>
    run(process.execPath, [program, ...args]).catch(
      (error: { code: number; stdout: string; stderr: string }) => error,
    )
  expect((await ask('--help')).stdout).toContain('--seed FILE')
  expect(await ask('--port', 'x')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--port must be'),
  })
  expect(await ask('--nonsense')).toMatchObject({ code: 1, stderr: expect.stringContaining('Usage:') })
})
