import { describe, expect, test } from 'vitest'
import { findPasswordHint } from './app-passwords.ts'
import { checkImapFields, EMPTY_FIELDS, fieldsOf, type ImapFields } from './imap-form.ts'
import { scopesInWords } from './scope-words.ts'

const GOOGLE = 'https://www.googleapis.com/auth/'
const MODIFY = 'read, change and send your email'
const PERSON = 'see your name and email address'
const SHARED = 'read, change and send email of mailboxes that others share with you'

test.each<[scopes: string[], words: string[]]>([
  [
    ['openid', 'email', 'profile', `${GOOGLE}gmail.modify`],
    [MODIFY, PERSON],
  ],
  [[`${GOOGLE}gmail.modify`, `${GOOGLE}gmail.send`, `${GOOGLE}gmail.readonly`], [MODIFY]],
  [
    ['https://mail.google.com/', `${GOOGLE}gmail.modify`],
    ['read, change, send and permanently delete your email'],
  ],
  [
    [`${GOOGLE}gmail.readonly`, `${GOOGLE}gmail.send`],
    ['read your email', 'send email as you'],
  ],
  [
    [`${GOOGLE}calendar`, `${GOOGLE}contacts`],
    ['see and change your calendars', 'see and change your contacts'],
  ],
  [
    ['offline_access', 'User.Read', 'Mail.ReadWrite', 'Mail.Send'],
    [MODIFY, PERSON],
  ],
  [
    ['https://graph.microsoft.com/Mail.ReadWrite', 'https://graph.microsoft.com/Mail.ReadWrite.Shared'],
    [MODIFY, SHARED],
  ],
  [
    ['https://dod-graph.microsoft.us/User.Read', 'https://microsoftgraph.chinacloudapi.cn/Mail.Read'],
    ['read your email', PERSON],
  ],
  [[`${GOOGLE}drive`], [`${GOOGLE}drive`]],
  [[], []],
])('puts %j into words', (scopes, words) => expect(scopesInWords(scopes)).toEqual(words))

test.each([
  ['imap.gmail.com', /Google/],
  ['IMAP.GMAIL.COM.', /Google/],
  ['imap.mail.me.com', /Apple/],
  ['imap.mail.yahoo.com', /Yahoo/],
  ['outlook.office365.com', /Microsoft/],
  ['imappro.zoho.eu', /Zoho/],
])('finds which kind of password %s requires', (host, words) =>
  expect(findPasswordHint(host)?.text).toMatch(words),
)

test.each(['imap.example.org', 'notgmail.com', 'gmail.com.example.org', ''])(
  'finds no password hint for %j',
  host => expect(findPasswordHint(host)).toBeNull(),
)

describe('the form of an IMAP mailbox', () => {
  const servers = {
    imap: { host: 'imap.example.org', port: 993, security: 'tls', user: 'ada' },
    smtp: { host: 'smtp.example.org', port: 587, security: 'starttls', user: 'ada' },
  } as const
  const dav = { source: 'srv', calendarUrl: null, contactsUrl: 'https://dav.example.org/' } as const
  const filled: ImapFields = {
    ...fieldsOf('ada@example.org', { ...servers, dav: null }),
    password: ' secret ',
  }

  test('becomes the input of an account, with the password unchanged', () => {
    expect(checkImapFields(filled)).toMatchObject({
      outcome: 'valid',
      input: { email: 'ada@example.org', password: ' secret ', ...servers },
    })
  })

  test('has the contacts that were found unless their box is cleared, and a login of their own', () => {
    const found = { ...fieldsOf('ada@example.org', { ...servers, dav }), password: 'x' }
    const { contactsUrl, calendarUrl } = dav
    expect(checkImapFields(found)).toMatchObject({ input: { dav: { contactsUrl, calendarUrl } } })
    const own = { ...found, davUser: 'ada', davPassword: ' y ' }
    expect(checkImapFields(own)).toMatchObject({ input: { dav: { user: 'ada', password: ' y ' } } })
    expect(checkImapFields({ ...found, contactsUrl: '' })).toMatchObject({ input: { dav: {} } })
    expect(checkImapFields({ ...found, dav: '' })).not.toHaveProperty('input.dav')
  })

  test('leaves out empty fields, so that they are searched for', () => {
    const checked = checkImapFields({ ...EMPTY_FIELDS, email: 'ada@example.org', password: 'x' })
    expect(checked).toEqual({
      outcome: 'valid',
      input: { email: 'ada@example.org', password: 'x', appendSent: true },
    })
  })

  test('has the IMAP server and its login name for sending if no other is named', () => {
    const sparse = { ...filled, smtpHost: '', smtpUser: '', smtpPort: '', smtpSecurity: 'starttls' }
    expect(checkImapFields(sparse)).toMatchObject({
      input: { smtp: { host: 'imap.example.org', port: 587, security: 'starttls', user: 'ada' } },
    })
    const wrong = checkImapFields({ ...sparse, imapHost: 'imaps://x' })
    expect(wrong).toMatchObject({ outcome: 'invalid', errors: { imapHost: expect.any(String) } })
    expect(wrong).not.toHaveProperty('errors.smtpHost')
  })

  test('has the usual ports for servers that are named without one', () => {
    const bare = { ...filled, imapPort: '', smtpPort: '' }
    expect(checkImapFields(bare)).toMatchObject({ input: { imap: { port: 993 }, smtp: { port: 587 } } })
    const tls = { ...bare, imapSecurity: '', smtpSecurity: '' }
    expect(checkImapFields(tls)).toMatchObject({ input: { imap: { port: 993 }, smtp: { port: 465 } } })
  })

  test('has no server for sending if the box is ticked', () => {
    expect(checkImapFields({ ...filled, readOnly: 'on' })).toMatchObject({ input: { smtp: null } })
  })

  test.each<[change: Partial<ImapFields>, wrong: (keyof ImapFields)[]]>([
    [{ email: 'ada' }, ['email']],
    [{ password: '' }, ['password']],
    [{ password: 'a\nb' }, ['password']],
    [{ imapHost: 'imaps://imap.example.org' }, ['imapHost']],
    [{ imapHost: 'imap.example.org:993' }, ['imapHost']],
    [{ imapPort: '0' }, ['imapPort']],
    [{ imapPort: '993.5', smtpPort: '65536' }, ['imapPort', 'smtpPort']],
    [{ imapUser: 'x'.repeat(321) }, ['imapUser']],
    [{ imapSecurity: 'ssl' }, ['imapSecurity']],
    [{ dav: 'on', contactsUrl: 'x'.repeat(2001) }, ['contactsUrl']],
    [{ dav: 'on', davUser: 'x'.repeat(321) }, ['davUser']],
    [{ dav: 'on', davPassword: 'x'.repeat(1025) }, ['davPassword']],
    [{ smtpPassword: 'x'.repeat(1025) }, ['smtpPassword']],
    [{ email: '', password: '', imapHost: ' ' }, ['email', 'password', 'imapHost']],
  ])('shows the errors of %j beside their fields', (change, wrong) => {
    const checked = checkImapFields({ ...filled, ...change })
    expect(checked.outcome === 'invalid' && Object.keys(checked.errors).toSorted()).toEqual(wrong.toSorted())
  })
})
