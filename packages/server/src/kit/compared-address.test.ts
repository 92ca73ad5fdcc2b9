import { describe, expect, test } from 'vitest'
import { comparedAddress } from './compared-address.ts'

describe('comparedAddress', () => {
  test.each([
    ['ada@example.com', 'ada@example.com'],
    ['Ada.Lovelace+news@Example.COM', 'ada.lovelace+news@example.com'],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['ada@BÜCHER.example', 'ada@xn--bcher-kva.example'],
    ['ada@XN--BCHER-KVA.example', 'ada@xn--bcher-kva.example'],
    ['Zoë@example.com', 'zoë@example.com'],
    ['"a@b"@example.com', '"a@b"@example.com'],
    ['', ''],
    ['Undisclosed', 'undisclosed'],
    ['Grüße', 'grüße'],
    ['a@\ud800.example', 'a@\ud800.example'],
  ])('%j is compared as %j', (address, compared) => {
    expect(comparedAddress(address)).toBe(compared)
  })
})
