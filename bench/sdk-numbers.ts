export const MESSAGES = 10_000
export const PAGE = 200
export const EVENTS = 20_000
