import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { callerOf } from './caller.ts'
import { guardProcess } from './guard/guard.ts'
import { until } from './service-process.ts'
import { findFreePorts } from './servers/daemon.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SCOPES = ['gmail.modify', 'gmail.settings.basic'].map(name => `https://www.googleapis.com/auth/${name}`)

/** Commands that run another one on a terminal of its own, with their input typed there: script(1) of Linux and of macOS. */
const onTerminal = (command: string) =>
  process.platform === 'linux'
    ? ['-q', '-e', '-c', command, '/dev/null']
    : ['-q', '/dev/null', ...command.split(' ')]
const CTRL_C = '\x03'

/** The terminal of a newcomer: the service with a sandbox, found by its output alone. */
async function startDev() {
  const [port = 0] = await findFreePorts(1)
  const terminal = spawn('script', onTerminal(`npm run dev -- --port ${port} --sandbox-port 0`), {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', SHELL: '/bin/sh' },
  })
  guardProcess(terminal)
  const ended = once(terminal, 'exit')
  let output = ''
  for (const stream of [terminal.stdout, terminal.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => void (output += text))
  }
  await until(() => output.includes('Ctrl-C ends both') || terminal.exitCode !== null, 'it says how to go on')
  const find = (pattern: RegExp) => pattern.exec(output)?.[1] ?? `nothing like ${pattern} in:\n${output}`
  return {
    address: `http://127.0.0.1:${port}`,
    key: find(/WAXWING_KEY=(\S+)/),
    link: find(/(http:\S+\/connect\/\S+)/),
    controlUrl: find(/The sandbox: (http:\/\/[\d.:]+)/),
    async stop() {
      terminal.stdin.write(CTRL_C)
      await ended
    },
    async [Symbol.asyncDispose]() {
      terminal.kill('SIGKILL')
      await until(() => isClosed(`http://127.0.0.1:${port}`), 'the service ends')
    },
  }
}

test('npm run dev on a terminal shows a link and a key, with which mailboxes of the sandbox are connected', async () => {
  await using dev = await startDev()
  const find = new URLSearchParams({ do: 'find', email: 'ada@gmail.test' })
  const found = await fetch(dev.link, { method: 'POST', body: find, headers: { origin: dev.address } })
  expect(await found.text()).toContain('Continue to Google')

  const grant = await fetch(`${dev.controlUrl}/grants`, {
    method: 'POST',
    body: JSON.stringify({
      user: 'ada@gmail.test',
      clientId: 'sandbox',
      scopes: ['openid', 'email', 'profile', ...SCOPES],
    }),
  })
  const { refreshToken } = (await grant.json()) as { refreshToken: string }
  const caller = callerOf(dev.address, dev.key)
  const { status, body } = await caller.post('/v1/accounts', { provider: 'google', refreshToken })
  expect(status, JSON.stringify(body)).toBe(200)
  const account = `/v1/accounts/${(body as { id: string }).id}`
  await until(async () => {
    const { body: page } = await caller.get(`${account}/messages`)
    return ((page as { items?: unknown[] }).items?.length ?? 0) > 0
  }, 'mail is indexed')

  await dev.stop()
  await until(() => isClosed(dev.address), 'the service ends')
  await until(() => isClosed(dev.controlUrl), 'the sandbox ends')
})

function isClosed(address: string): Promise<boolean> {
  return fetch(address).then(
    () => false,
    () => true,
  )
}
