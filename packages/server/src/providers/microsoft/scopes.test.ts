import { describe, expect, test } from 'vitest'
import type { HalfAccess } from '../sign-in.ts'
import { CLOUDS } from './clouds.ts'
import {
  grantsMail,
  halvesOf,
  parseScopes,
  readsMail,
  scopesFor,
  scopesOfRefresh,
  scopesToTry,
  sharesMailboxes,
} from './scopes.ts'
import { isPersonal, mailboxIdOf, subjectOf } from './subject.ts'

const { global, china } = CLOUDS
const GRAPH = 'https://graph.microsoft.com/'
const MAIL_ALONE = { calendar: false, contacts: false, shared: false }
const SETTINGS = `${GRAPH}MailboxSettings.Read`
const MAIL = [`${GRAPH}Mail.ReadWrite`, `${GRAPH}Mail.Send`]

describe('the requested scopes', () => {
  test('name the Graph host of the cloud, and are those of mail, calendars and contacts', () => {
    const all = { calendar: true, contacts: true, shared: false }
    expect(scopesFor(global, null, all)).toEqual([
      'openid',
      'email',
      'profile',
      'offline_access',
      `${GRAPH}User.Read`,
      ...MAIL,
      `${GRAPH}Calendars.ReadWrite`,
      `${GRAPH}Contacts.ReadWrite`,
      SETTINGS,
    ])
    expect(scopesFor(china, null, MAIL_ALONE)).toContain(
      'https://microsoftgraph.chinacloudapi.cn/Mail.ReadWrite',
    )
  })

  test('include mailboxes of others if they are asked for', () => {
    const scopes = scopesFor(global, null, { ...MAIL_ALONE, shared: true })
    expect(scopes).toEqual(
      expect.arrayContaining([`${GRAPH}Mail.ReadWrite.Shared`, `${GRAPH}Mail.Send.Shared`]),
    )
    expect(scopes.some(scope => /Calendars|Contacts/.test(scope))).toBe(false)
    expect(scopesFor(global, null, { calendar: true, contacts: true, shared: true }).slice(5)).toEqual([
      ...MAIL,
      `${GRAPH}Mail.ReadWrite.Shared`,
      `${GRAPH}Mail.Send.Shared`,
      `${GRAPH}Calendars.ReadWrite`,
      `${GRAPH}Calendars.ReadWrite.Shared`,
      `${GRAPH}Contacts.ReadWrite`,
      `${GRAPH}Contacts.ReadWrite.Shared`,
      SETTINGS,
    ])
  })

  test('of a grant from elsewhere are tried with less and less, and end with mail', () => {
    const everything = { calendar: true, contacts: true, shared: true }
    const ofData = scopesToTry(global, null, everything).map(scopes => scopes.slice(5))
    const [calendars, contacts, sharedMail] = [
      `${GRAPH}Calendars.ReadWrite`,
      `${GRAPH}Contacts.ReadWrite`,
      [`${GRAPH}Mail.ReadWrite.Shared`, `${GRAPH}Mail.Send.Shared`],
    ]
    const all = [...MAIL, ...sharedMail, calendars, `${calendars}.Shared`, contacts, `${contacts}.Shared`]
    expect(ofData).toEqual([
      [...all, SETTINGS],
      // Grants from before it was asked for lack the zone of the mailbox.
      all,
      [...MAIL, calendars, contacts, SETTINGS],
      [...MAIL, calendars, contacts],
      [...MAIL, ...sharedMail, calendars, `${calendars}.Shared`, SETTINGS],
      [...MAIL, ...sharedMail, calendars, `${calendars}.Shared`],
      [...MAIL, calendars, SETTINGS],
      [...MAIL, calendars],
      [...MAIL, ...sharedMail, contacts, `${contacts}.Shared`],
      [...MAIL, contacts],
      [...MAIL, ...sharedMail],
      MAIL,
    ])
    expect(scopesToTry(global, null, MAIL_ALONE)).toHaveLength(1)
    expect(scopesToTry(global, ['Mail.ReadWrite'], everything)).toHaveLength(1)
  })

  test('come from the app if it names some', () => {
    expect(scopesFor(global, ['mail.readwrite', `${GRAPH}Custom.Read`], MAIL_ALONE).slice(4)).toEqual([
      `${GRAPH}User.Read`,
      `${GRAPH}Mail.ReadWrite`,
      `${GRAPH}Custom.Read`,
    ])
  })
})

describe('the granted scopes', () => {
  test.each([
    ['with the host', `openid ${GRAPH}Mail.ReadWrite`],
    ['without the host', 'openid  Mail.ReadWrite'],
    ['in another case', 'OpenID mail.readwrite MAIL.READWRITE'],
    ['with the host in another case', `openid https://Graph.Microsoft.com/Mail.readWrite`],
  ])('are read %s', (_, text) => {
    expect(parseScopes(global, text)).toEqual(['openid', `${GRAPH}Mail.ReadWrite`])
  })

  test('are asked for again by a refresh, with a new refresh token', () => {
    expect(scopesOfRefresh(['profile', ...MAIL])).toEqual(['profile', ...MAIL, 'openid', 'offline_access'])
  })

  test.each<[string, asked: string[], granted: string[], boolean]>([
    ['all that was asked for', MAIL, MAIL, true],
    ['more than was asked for', ['Mail.Read'], MAIL, true],
    ['no sending', MAIL, [`${GRAPH}Mail.ReadWrite`], false],
    ['reading alone', MAIL, [`${GRAPH}Mail.Read`, `${GRAPH}Mail.Send`], false],
    ['no mailboxes of others', [...MAIL, 'Mail.ReadWrite.Shared'], MAIL, true],
    ['those of another cloud', MAIL, ['https://graph.microsoft.us/Mail.ReadWrite'], false],
    ['nothing of mail', MAIL, ['openid', `${GRAPH}User.Read`], false],
    ['basic mail alone', ['Mail.ReadBasic'], [`${GRAPH}Mail.ReadBasic`], false],
  ])('%s', (_, asked, granted, expected) => {
    expect(grantsMail(global, asked, granted)).toBe(expected)
  })

  test('show what an account may do', () => {
    expect(readsMail(global, ['Mail.ReadBasic'])).toBe(false)
    expect(readsMail(global, ['Mail.Read'])).toBe(true)
    expect(sharesMailboxes(global, [`${GRAPH}Mail.ReadWrite.Shared`])).toBe(true)
    expect(sharesMailboxes(global, [`${GRAPH}Mail.Read.Shared`, ...MAIL])).toBe(false)
  })

  test.each<[string, scopes: string[], own: HalfAccess, shared: HalfAccess]>([
    ['everything', ['ReadWrite'], 'writes', 'none'],
    ['reading', ['Read'], 'reads', 'none'],
    ['those of others', ['ReadWrite.Shared'], 'writes', 'writes'],
    ['reading those of others', ['Read.Shared'], 'reads', 'reads'],
    ['changing the own, and reading those of others', ['ReadWrite', 'Read.Shared'], 'writes', 'reads'],
    ['another scope of the same beginning', ['ReadWriteX', 'ReadBasic'], 'none', 'none'],
  ])('allow with calendars and with contacts: %s', (_, names, own, shared) => {
    const calendars = names.map(name => `${GRAPH}Calendars.${name}`)
    const contacts = names.map(name => `contacts.${name.toLowerCase()}`)
    expect(halvesOf(global, calendars)).toEqual({ calendar: own, contacts: 'none' })
    expect(halvesOf(global, contacts)).toEqual({ calendar: 'none', contacts: own })
    expect(halvesOf(global, [...calendars, ...contacts], true)).toEqual({
      calendar: shared,
      contacts: shared,
    })
    expect(halvesOf(china, calendars)).toEqual({ calendar: 'none', contacts: 'none' })
  })
})

describe('a subject', () => {
  const work = { tid: 'AAAAAAAA-0000-4000-8000-000000000001', oid: '0123abcd-0000-4000-8000-00000000beef' }
  const personal = {
    tid: '9188040d-6c67-4c5b-b112-36a304b66dad',
    oid: '00000000-0000-0000-87d3-49ed44d7b6b3',
  }

  test('is the directory and the user, and names the mailbox', () => {
    expect(subjectOf(work)).toBe(`microsoft:${work.tid.toLowerCase()}:${work.oid}`)
    expect(mailboxIdOf(subjectOf(work))).toBe(work.oid)
    expect(mailboxIdOf(subjectOf(personal))).toBe('87d349ed44d7b6b3')
    expect([work, personal].map(isPersonal)).toEqual([false, true])
  })

  test.each(['google:1', 'microsoft:inbox:1', `microsoft:${work.oid}`, `microsoft:${work.oid}:../me`])(
    'of nobody who signed in has no mailbox: %s',
    subject => expect(() => mailboxIdOf(subject)).toThrow(RangeError),
  )
})
