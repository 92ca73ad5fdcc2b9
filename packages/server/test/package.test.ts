import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { callerOf } from './caller.ts'
import { NO_COMPILE_CACHE } from './compile-cache.ts'
import { makeDataFolder, startServiceProcess, until } from './service-process.ts'

const run = promisify(execFile)
const REPOSITORY = path.resolve(import.meta.dirname, '../../..')
const MODULES = path.join(REPOSITORY, 'node_modules')
const PACKAGES = ['contract', 'sdk', 'server']

interface Manifest {
  bin?: Record<string, string>
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

/**
 * The packages as they are published, installed in a folder outside the repository with the dependencies that they name,
 * and no others.
 */
async function install() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-package-'))
  const modules = path.join(folder, 'node_modules')
  // PostgreSQL does not run as root, and must be able to enter.
  await chmod(folder, 0o711)
  const workspaces = PACKAGES.flatMap(name => ['-w', `@waxwing/${name}`])
  await run('npm', ['run', 'pack', '--', ...workspaces, '--pack-destination', folder], { cwd: REPOSITORY })
  const tarballs = (await readdir(folder)).filter(name => name.endsWith('.tgz'))
  const link = async (name: string, target: string) => {
    await mkdir(path.dirname(path.join(modules, name)), { recursive: true })
    await symlink(target, path.join(modules, name))
  }
  const installed = new Set(await readdir(MODULES))
  for (const tarball of tarballs) {
    const [, name = ''] = /^waxwing-(\w+)-/.exec(tarball) ?? []
    const target = path.join(modules, '@waxwing', name)
    await mkdir(target, { recursive: true })
    await run('tar', ['-xzf', path.join(folder, tarball), '-C', target, '--strip-components=1'])
    const manifest: Manifest = JSON.parse(await readFile(path.join(target, 'package.json'), 'utf8'))
    const wanted = { ...manifest.dependencies, ...manifest.optionalDependencies }
    for (const dependency of Object.keys(wanted).filter(each => !each.startsWith('@waxwing/'))) {
      const isThere = installed.has(dependency.split('/')[0] ?? '')
      if (isThere) await link(dependency, path.join(MODULES, dependency)).catch(() => {})
    }
    for (const [bin, file] of Object.entries(manifest.bin ?? {}))
      await link(`.bin/${bin}`, path.join(target, file))
  }
  await link('.bin/node', process.execPath)
  return { folder, modules, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

/** Uses both threads of the service, and fails on purpose. */
const SCRIPT = `
  const { openRenderer } = await import('@waxwing/server/dist/kit/templating/renderer.js')
  await using renderer = openRenderer()
  const template = { format: 'html', subject: null, html: null, text: 'Hello {{name}}', previewText: null }
  const [rendered] = await renderer.render('anyone', template, ['{"name": "Ada"}'])
  const { openMessageReader } = await import('@waxwing/server/dist/kit/mime/message-reader.js')
  await using reader = openMessageReader()
  async function* source() { yield Buffer.from('Subject: Hi\\r\\n\\r\\nHello Ben') }
  const read = await reader.read('a', source())
  const { readConfig } = await import('@waxwing/server/dist/config.js')
  let stack = ''
  try {
    readConfig({ WAXWING_PORT: 'none' }, { isRoot: false, isTerminal: false })
  } catch (error) {
    stack = error.stack
  }
  console.log(JSON.stringify({ text: rendered.text, read: read.text, stack }))
`

test('packages hold JavaScript that npx runs, and all files that the service reads', async () => {
  await using installed = await install()
  const { stdout } = await run('find', [path.join(installed.modules, '@waxwing'), '-type', 'f'])
  const files = stdout.trim().split('\n')
  expect(files.length).toBeGreaterThan(300)
  expect(files.filter(file => /(?<!\.d)\.ts$|\.test\.|\/(?:test|conformance)\/|tsconfig/.test(file))).toEqual(
    [],
  )
  expect(files.filter(file => file.endsWith('/LICENSE'))).toHaveLength(PACKAGES.length)

  // Errors name the lines of the source.
  const script = path.join(installed.folder, 'script.mjs')
  await writeFile(script, SCRIPT)
  const { stdout: told } = await run(process.execPath, [script])
  const { text, read, stack }: Record<string, string> = JSON.parse(told)
  expect({ text, read }).toEqual({ text: 'Hello Ada', read: 'Hello Ben' })
  const [, line = '', column = ''] = /dist\/config\.js:(\d+):(\d+)/.exec(stack ?? '') ?? []
  const source = await readFile(path.join(REPOSITORY, 'packages/server/src/config.ts'), 'utf8')
  expect(source.split('\n')[Number(line) - 1]?.slice(Number(column) - 1)).toMatch(/^new ConfigError\(/)

  await using data = await makeDataFolder()
  await using service = await startServiceProcess(data, {
    command: ['npx', '--no-install', '@waxwing/server'],
    cwd: installed.folder,
    env: {
      ...NO_COMPILE_CACHE,
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      npm_config_update_notifier: 'false',
    },
  })
  const { get } = callerOf(service.address, service.key)
  for (const file of ['/health/ready', '/v1/accounts', '/v1/openapi.json', '/docs', '/docs/guides/sending'])
    expect({ file, status: (await get(file)).status }).toEqual({ file, status: 200 })
  expect(service.output()).not.toContain('ExperimentalWarning')
  service.kill('SIGTERM')
  await until(() => service.output().includes('"Stopped"'), 'the service closes everything')
})
