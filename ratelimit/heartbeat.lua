-- Records a heartbeat of an instance and returns how many instances are alive.
--
-- KEYS[1]  a sorted set: instances by the time of their last heartbeat
-- ARGV     the id of the instance; how long a heartbeat counts, in microseconds

local key, id, alive = KEYS[1], ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZADD', key, string.format('%.0f', now), id)
redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - alive))
redis.call('PEXPIRE', key, math.ceil(alive / 1000) + 1000)
return redis.call('ZCARD', key)
