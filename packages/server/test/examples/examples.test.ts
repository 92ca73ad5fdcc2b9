import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guardFolder } from '../guard/guard.ts'
import { findFreePorts } from '../servers/daemon.ts'
import { type DevWorld, type Mailbox, startDevWorld } from './dev-world.ts'
import { languageOf, languagesOf, namesOf, type Play, PLAYS, type Step } from './plays.ts'
import {
  type Environment,
  fitsLine,
  type Language,
  LANGUAGES,
  runExample,
  startExample,
} from './run-example.ts'

const DOCS = fileURLToPath(new URL('../../../../docs', import.meta.url))
/** The last one that is connected is the newest account. */
const MAILBOXES: readonly Mailbox[] = [
  { email: 'ben@gmail.test', provider: 'google' },
  { email: 'ada@gmail.test', provider: 'google' },
]

const opened = new AsyncDisposableStack()
let world: DevWorld
const accounts = new Map<string, string>()
beforeAll(async () => {
  world = opened.use(await startDevWorld())
  for (const mailbox of MAILBOXES) accounts.set(mailbox.email, await world.connect(mailbox))
})
afterAll(() => opened.disposeAsync())

/** A folder in which the examples of a scene run. */
async function makeFolder(): Promise<AsyncDisposable & { path: string }> {
  const made = await mkdtemp(path.join(tmpdir(), 'waxwing-example-'))
  const release = guardFolder(made)
  return {
    path: made,
    async [Symbol.asyncDispose]() {
      await rm(made, { recursive: true, force: true })
      release()
    },
  }
}

/** The variables that the pages ask their reader to set. */
async function makeEnvironment(running: AsyncDisposableStack) {
  const [port = 0] = await findFreePorts(1)
  return {
    ...world.environment,
    ACCOUNT: accounts.get('ada@gmail.test') ?? '',
    BEN: accounts.get('ben@gmail.test') ?? '',
    PORT: String(port),
    FOLDER: running.use(await makeFolder()).path,
    INVOICE: randomUUID(),
  }
}

async function playScene({ job }: Play, scene: readonly Step[], language: Language) {
  await using running = new AsyncDisposableStack()
  let environment: Environment = await makeEnvironment(running)
  const run = async (name: string) => {
    const exported = await runExample(job, name, languageOf(job, name, language), environment)
    environment = { ...environment, ...exported }
  }
  for (const step of scene) {
    if (typeof step === 'string') {
      await run(step)
      continue
    }
    const { start, meanwhile } = step
    const started = running.use(await startExample(job, start, languageOf(job, start, language), environment))
    for (const name of meanwhile) await run(name)
    await started.finish()
  }
}

describe.each(PLAYS)('the job $job', play => {
  const { job, scenes } = play
  const cases = scenes.flatMap(scene =>
    languagesOf(job, scene).map(language => ({ scene, language, names: namesOf(scene).join(', ') })),
  )
  test.each(cases)('plays $names in $language', ({ scene, language }) => playScene(play, scene, language))

  test('plays each of its examples, and shows them on its page', async () => {
    const names = new Set(scenes.flatMap(namesOf))
    const files = (await readdir(path.join(DOCS, 'examples', job))).map(file => path.parse(file))
    expect(new Set(files.map(({ name }) => name))).toEqual(names)
    const page = await readFile(path.join(DOCS, 'jobs', `${job}.md`), 'utf8')
    const included = [...page.matchAll(/^@include (\S+)$/gm)].map(([, name]) => name)
    expect(new Set(included)).toEqual(new Set([...names].map(name => `${job}/${name}`)))
    for (const name of names)
      expect(LANGUAGES.some(language => files.some(file => file.base === `${name}.${language}`))).toBe(true)
  })
})

test.each(LANGUAGES)('a program that sends once repeats its send after a restart in %s', async language => {
  await using running = new AsyncDisposableStack()
  const environment = await makeEnvironment(running)
  await runExample('send-once', 'send', language, environment)
  const again = runExample('send-once', 'send', language, environment)
  await expect(again).rejects.toThrow('printed\nfirst: repeated\nsecond: repeated\nthe same message: true\n')
})

async function deliverWithoutSender() {
  const body = 'Subject: From nobody\r\n\r\nWho am I?\r\n'
  const url = `${world.environment.SANDBOX_URL}/users/ada@gmail.test/messages`
  expect((await fetch(url, { method: 'POST', body })).ok).toBe(true)
}

test.each(LANGUAGES)(
  'a program that follows changes prints a message without a sender in %s',
  async language => {
    await using running = new AsyncDisposableStack()
    const environment = await makeEnvironment(running)
    const follower = running.use(await startExample('follow-changes', 'follow', language, environment))
    await deliverWithoutSender()
    await follower.hasPrinted(2)
    await runExample('follow-changes', 'deliver', 'sh', environment)
    await follower.hasPrinted(3)
  },
)

/** Sends the head of a request whose body would be one byte over the limit of the receivers. */
async function announceLargeBody(port: string): Promise<number | undefined> {
  const headers = { 'content-length': 10_000_001 }
  const request = requestHttp({ host: '127.0.0.1', port, method: 'POST', headers })
  request.flushHeaders()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  request.on('error', () => {}).destroy()
  return response.statusCode
}

test.each(['ts', 'py'] as const)(
  'a receiver of webhooks refuses a large body, and prints a message without a sender in %s',
  async language => {
    await using running = new AsyncDisposableStack()
    const made = await makeEnvironment(running)
    const environment = { ...made, ...(await runExample('receive-by-webhook', 'register', language, made)) }
    const receiver = running.use(await startExample('receive-by-webhook', 'receive', language, environment))
    expect(await announceLargeBody(made.PORT)).toBe(413)
    await deliverWithoutSender()
    await receiver.hasPrinted(2)
    await runExample('receive-by-webhook', 'stop', language, environment)
  },
)

test('every job is played', async () => {
  const pages = await readdir(path.join(DOCS, 'jobs'))
  expect(new Set(pages)).toEqual(new Set(PLAYS.map(({ job }) => `${job}.md`)))
})

test('an expected line has gaps, and fits nothing else', () => {
  expect(fitsLine('… is sent to …@example.org', '01a1 is sent to grace@example.org')).toBe(true)
  expect(fitsLine('… is sent', '01a1 is sent twice')).toBe(false)
  expect(fitsLine('a.c', 'abc')).toBe(false)
})

test('an example that prints something else is red', async () => {
  const environment = { ...world.environment, ACCOUNT: 'no-account' }
  await expect(runExample('first-mailbox', 'read', 'sh', environment)).rejects.toThrow('in place of')
})
