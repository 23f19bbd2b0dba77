"""rocwmma"""
