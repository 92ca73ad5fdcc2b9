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

/** What a newcomer sees: the service with a sandbox, found by what is printed alone. */
async function startDev() {
  const [port = 0] = await findFreePorts(1)
  const npm = spawn('npm', ['run', 'dev', '--', '--port', `${port}`, '--sandbox-port', '0'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' },
  })
  guardProcess(npm)
  const ended = once(npm, 'exit')
  let output = ''
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => void (output += text))
  }
  await until(() => output.includes('Ctrl-C ends both') || npm.exitCode !== null, 'it says how to go on')
  const find = (pattern: RegExp) => pattern.exec(output)?.[1] ?? `nothing like ${pattern} in:\n${output}`
  return {
    address: `http://127.0.0.1:${port}`,
    key: find(/WAXWING_KEY=(\S+)/),
    link: find(/(http:\S+\/connect\/\S+)/),
    controlUrl: find(/The sandbox: (http:\/\/[\d.:]+)/),
    async stop() {
      npm.kill('SIGTERM')
      await ended
    },
    [Symbol.asyncDispose]: async () => void npm.kill('SIGKILL'),
  }
}

test('npm run dev connects a mailbox of the sandbox, whose mail is there', async () => {
  await using dev = await startDev()
  expect(await (await fetch(dev.link)).text()).toContain('Google')

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
