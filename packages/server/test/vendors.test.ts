import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'

const SOURCE = path.resolve(import.meta.dirname, '../src')

/** A word with the name of a vendor of mail, or of an interface of one. */
const VENDOR =
  /\w*(?:gmail|google|microsoft|outlook|office ?365|hotmail|icloud|yahoo|fastmail|yandex|zoho|\bapple|\bgraph\b|\bgmx\b|\baol\b)\w*/gi

/** The rooms that name vendors: adapters, the table of kinds, and settings. The contract is a package of its own. */
const ROOMS = /^(?:providers\/|connections\/kinds\/|config\/|config\.ts$)/
/** The types of the database's tables are generated. Older migrations cannot be changed. */
const UNJUDGED = /^database\/(?:tables\.ts$|schema\.sql$|migrations\/00(?:[0-4]\d|5[0-8])_)/

const FIELD = 'a field or a reason of the interface'
const FOREIGN = 'recognises what programs of others write'

/** Files besides these rooms, with the words that each may have. */
const NAMED: Readonly<Record<string, readonly [words: RegExp, reason: string]>> = {
  'accounts/apps/store.ts': [/^GmailPush$/i, FIELD],
  'database/migrations/0060_signed_in_address.sql': [/^account_gmail_address$/, 'drops an older index'],
  'features/accounts/accounts/connect-by-token.ts': [/^(?:microsoftCloud|not_microsoft)$/, FIELD],
  'features/accounts/accounts/purge.ts': [/^gmail_watch$/, 'the name of a table'],
  'features/accounts/connect-pages/app-passwords.ts': [
    /./,
    'hints for people, by the hosts of their servers',
  ],
  'features/accounts/connect-pages/scope-words.ts': [/./, 'says in words what each scope allows'],
  'features/accounts/connect-sessions/create.ts': [/^(?:microsoftCloud|not_microsoft)$/, FIELD],
  'features/accounts/connect-sessions/hosted-operations.ts': [/^microsoftCloud$/, FIELD],
  'features/accounts/connect-sessions/record.ts': [/^microsoft_?Cloud$/i, FIELD],
  'features/accounts/connect-sessions/store.ts': [/^microsoft_?Cloud$/i, FIELD],
  'features/accounts/oauth-apps/choose-app.ts': [/^microsoftCloud$/, FIELD],
  'features/accounts/oauth-apps/operations.ts': [/^gmailPush$/, FIELD],
  'features/accounts/oauth-apps/present.ts': [/^gmailPush$/, FIELD],
  'features/accounts/oauth-apps/record.ts': [/^gmailPush$/i, FIELD],
  'features/accounts/oauth-apps/rules.ts': [/^(?:gmailPush|not_microsoft|gmail_push_unsupported)$/i, FIELD],
  'features/sending/answers/rules.ts': [/^microsoftexchange$/, FOREIGN],
  'features/sending/bounces/dialects.ts': [/./, FOREIGN],
  'features/sending/bounces/report.ts': [/^microsoftexchange$/, FOREIGN],
  'features/sending/classification/own-words.ts': [/^Outlook$/, FOREIGN],
  'features/sending/tracking/machines.ts': [/./, FOREIGN],
  'pages/public-page.ts': [/^apple$/, 'a font of the system'],
}

/** Leaves a comment where it might be code: then the test fails for nothing, but misses nothing. */
function withoutComments(text: string): string {
  return text
    .replaceAll(/^\s*\/\*[\s\S]*?\*\//gm, '')
    .replaceAll(/^\s*(?:\/\/|--).*$/gm, '')
    .replaceAll(/\s\/\/ [^'"`]*$/gm, '')
}

/** The vendors that a file names, in words of its code. */
const namedIn = (text: string) => withoutComments(text).match(VENDOR) ?? []

const files = globSync('**/*.{ts,sql}', { cwd: SOURCE }).filter(
  file => !file.endsWith('.test.ts') && !ROOMS.test(file) && !UNJUDGED.test(file),
)

test('finds vendors in code, and not in comments', () => {
  expect(namedIn("// Gmail\n/** Google */\nconst x = 'imap' // Outlook\nparagraph()")).toEqual([])
  expect(namedIn("provider === 'gmail' || kind === 'graph'; where provider = 'google'")).toEqual([
    'gmail',
    'graph',
    'google',
  ])
})

test('names vendors only in adapters, in the table of kinds, in settings, and where there is a reason', () => {
  const named = files.flatMap(file =>
    namedIn(readFileSync(path.join(SOURCE, file), 'utf8'))
      .filter(word => NAMED[file]?.[0].test(word) !== true)
      .map(word => `${file}: ${word}`),
  )
  expect(named).toEqual([])
})

test.each(Object.entries(NAMED))('has a use for the exception %s', (file, [words]) => {
  expect(namedIn(readFileSync(path.join(SOURCE, file), 'utf8')).some(word => words.test(word))).toBe(true)
})

test('compares the kind or the provider of an account with no literal', () => {
  const compared = files.filter(file =>
    /\bprovider\s*(?:[!=]==|=|<>|in)\s*\(?'|'\w+'\s*[!=]==\s*[\w.]*\bprovider\b/.test(
      withoutComments(readFileSync(path.join(SOURCE, file), 'utf8')),
    ),
  )
  expect(compared).toEqual([])
})
