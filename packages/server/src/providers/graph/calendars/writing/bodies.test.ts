import { expect, test } from 'vitest'
import { withMeeting, withoutMeeting } from './bodies.ts'

const URL = 'https://teams.microsoft.com/l/meetup-join/19%3ameeting/0'
const LINE = '_'.repeat(80)
const BLOCK = `<div style="a"><span class="b">${LINE}</span></div><div><a href="${URL}">Join</a></div><div>${LINE}</div>`
const html = (content: string) => ({ contentType: 'html', content }) as const
const whole = (inside: string) => html(`<html><body>${inside}</body></html>`)

test('a copy has the text before and after the block of a meeting', () => {
  const body = whole(`<div><p>Before</p>${BLOCK}<p>After</p></div>`)
  expect(withoutMeeting(body, URL)).toEqual(whole('<div><p>Before</p><p>After</p></div>'))
  const text = `Before\r\n${LINE}\r\nMicrosoft Teams\r\nJoin: ${URL}\r\n${LINE}\r\nAfter\r\n`
  expect(withoutMeeting({ contentType: 'text', content: text }, URL).content).toBe('Before\r\nAfter')
})

test('a line that somebody wrote before the block is none of it', () => {
  const own = `<p>Before</p><p>${LINE}</p><p>More</p>`
  expect(withoutMeeting(whole(own + BLOCK), URL)).toEqual(whole(own))
})

test('a new body has the block, and nothing of the old text', () => {
  const there = whole(`<p>Before</p>${BLOCK}<p>After</p>`)
  expect(withMeeting(html('<p>New</p>'), there, URL)).toEqual(whole(`<p>New</p>${BLOCK}`))
  const block = `${LINE}\r\nJoin: ${URL}\r\n${LINE}`
  const old = { contentType: 'text', content: `Before\r\n${block}\r\nAfter` } as const
  expect(withMeeting({ contentType: 'text', content: 'New' }, old, URL).content).toBe(`New\n${block}`)
})
