import { randomBytes } from 'node:crypto'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { settings } from '../config/settings.ts'
import { CommandError } from './command-error.ts'
import { followFeed } from './listen/follow-feed.ts'
import { forward } from './listen/forward.ts'

const SECRET_BYTES = 32
const SECRET_PREFIX = 'whsec_'
/** Standard Webhooks: a secret has 24 to 64 bytes. */
const SECRET_BYTES_RANGE = { min: 24, max: 64 }

interface ListenOptions {
  key?: string
  forward: URL
  secret?: Buffer
  baseUrl: URL
}

export function register(program: Command) {
  program
    .command('listen')
    .description('post the events of a tenant to a URL, for development')
    .requiredOption(
      '--forward <url>',
      'where each event is posted, such as http://localhost:3000/webhooks',
      readUrl,
    )
    .addOption(new Option('--key <key>', 'an API key with the scope read').env('WAXWING_KEY'))
    .addOption(
      new Option('--secret <secret>', 'signs the events; without it, one is made and printed').argParser(
        readSecret,
      ),
    )
    .addOption(
      new Option('--base-url <url>', 'where the service answers')
        .env('WAXWING_BASE_URL')
        .default(
          new URL(`http://127.0.0.1:${settings.port.fallback}`),
          `http://127.0.0.1:${settings.port.fallback}`,
        )
        .argParser(readUrl),
    )
    .addHelpText(
      'after',
      `
Follows the feed of changes from now on, and signs and posts each event as a webhook would be (Standard Webhooks). The
answers are printed. An event is posted once, whatever the answer. No endpoint is created, and the URL may be private.
The key is better given as WAXWING_KEY, since other users of the machine can see the arguments of a program.

Examples:
  $ export WAXWING_KEY=$(npx waxwing key create --scopes read --json | jq -r .key)
  $ npx waxwing listen --forward http://localhost:3000/webhooks
  $ npx waxwing listen --forward http://localhost:3000/webhooks --base-url https://mail.example.com`,
    )
    .action(listen)
}

async function listen({ key, forward: target, secret = randomBytes(SECRET_BYTES), baseUrl }: ListenOptions) {
  if (!key)
    throw new CommandError(
      'Name an API key with --key or WAXWING_KEY. Make one with "waxwing key create --scopes read".',
    )
  if (!/^[\x21-\x7e]+$/.test(key)) throw new CommandError('The API key has characters that no key has.')
  const stop = new AbortController()
  // Under npm, Ctrl-C may arrive twice.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())
  const print = (line: string) => console.log(line)
  const onBegun = () => {
    print(`Events of ${baseUrl.origin} are posted to ${target.href}. Ctrl-C ends this.`)
    print(`They are signed with the secret ${SECRET_PREFIX}${secret.toString('base64')}`)
  }
  for await (const event of followFeed({ baseUrl, key, signal: stop.signal, onBegun, onTrouble: print }))
    print(
      `${event.createdAt} ${event.type} ${event.id}: ${await forward(event, target, secret, stop.signal)}`,
    )
  print('Stopped.')
}

function readUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('It must be an http or https URL.')
  if (url.username || url.password) throw new InvalidArgumentError('It must not contain a password.')
  return url
}

function readSecret(text: string): Buffer {
  const base64 = text.startsWith(SECRET_PREFIX) ? text.slice(SECRET_PREFIX.length) : ''
  const secret = Buffer.from(base64, 'base64')
  const isWhole = secret.toString('base64').replaceAll('=', '') === base64.replaceAll('=', '')
  if (!isWhole || secret.length < SECRET_BYTES_RANGE.min || secret.length > SECRET_BYTES_RANGE.max)
    throw new InvalidArgumentError(
      `It must be ${SECRET_PREFIX} and ${SECRET_BYTES_RANGE.min} to ${SECRET_BYTES_RANGE.max} bytes in base64.`,
    )
  return secret
}
