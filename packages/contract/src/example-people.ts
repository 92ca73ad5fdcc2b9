/** Whom and what all examples are about. */
export const ACCOUNT_ID = '01a1fc14-5d3e-7c50-9b1d-4d6f2a8e7b90'
export const GRACE = { name: 'Grace Hopper', address: 'grace@example.org' }
export const ADA = { name: 'Ada Lovelace', address: 'ada@example.com' }
